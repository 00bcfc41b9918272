/* SPDX-License-Identifier: MIT */
/* Reads a tree as a training loader does and says how fast that went: the load of tests/bench/run.
 *
 * usage: reader files ROOT LIST [OPTIONS]    whole files of LIST in a seeded random order: open, fstat, read, close
 *        reader preads ROOT LIST [OPTIONS]   blocks of --buffer bytes, each of the files' blocks once, random order
 *        reader walk ROOT [OPTIONS]          getdents and stat of everything below ROOT
 * --threads N  --seed N  --seconds S (0: to the end)  --buffer BYTES
 * --pause US              what each thread sleeps after a file or block, which does not count
 * --walk none|list|stat   what happens before the clock starts: nothing, getdents, getdents and stat
 *
 * LIST has one path relative to ROOT a line. load.h says what it prints. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "load.h"

enum walk { WALK_NONE, WALK_LIST, WALK_STAT };

static const char *root;
static enum walk walk;
static int *files; /* open descriptors, for preads only */
static size_t entries;
static struct timespec pause_after;

/* --- the tree ------------------------------------------------------------------------------------ */

/* Everything below the open directory; takes the descriptor. */
static void walk_directory(int fd, bool with_stat)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	int below;

	if (!dir)
		load_die("fdopendir: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		entries++;
		if (with_stat && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			load_die("stat of '%s': %s", entry->d_name, strerror(errno));
		if (entry->d_type != DT_DIR)
			continue;
		below = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY);
		if (below < 0)
			load_die("directory '%s': %s", entry->d_name, strerror(errno));
		walk_directory(below, with_stat);
	}
	closedir(dir);
}

static void walk_root(bool with_stat)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		load_die("'%s': %s", root, strerror(errno));
	walk_directory(fd, with_stat);
}

/* --- what there is to do --------------------------------------------------------------------------- */

static void plan_preads(void)
{
	struct stat st;
	size_t n = 0;

	files = load_alloc(load.path_count, sizeof(*files));
	for (size_t i = 0; i < load.path_count; i++) {
		files[i] = open(load.paths[i], O_RDONLY);
		if (files[i] < 0 || fstat(files[i], &st))
			load_die("'%s': %s", load.paths[i], strerror(errno));
		load.task_count += (size_t)st.st_size / load.buffer;
	}
	load.tasks = load_alloc(load.task_count, sizeof(*load.tasks));
	for (size_t i = 0; i < load.path_count; i++) {
		if (fstat(files[i], &st))
			load_die("'%s': %s", load.paths[i], strerror(errno));
		for (size_t block = 0; block < (size_t)st.st_size / load.buffer; block++)
			load.tasks[n++] = (struct task){ (uint32_t)i, (uint32_t)block };
	}
	if (!n)
		load_die("no file has a block of %zu bytes", load.buffer);
	load_shuffle();
}

/* --- doing it -------------------------------------------------------------------------------------- */

static size_t do_file(const char *path, char *buffer)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	size_t total = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st))
		load_die("'%s': %s", path, strerror(errno));
	/* To the end of the file and once more, as read() without a size does in most languages. */
	while ((got = read(fd, buffer, load.buffer)) > 0)
		total += (size_t)got;
	if (got < 0)
		load_die("read of '%s': %s", path, strerror(errno));
	if (total != (size_t)st.st_size)
		load_die("'%s' gave %zu bytes of %zu", path, total, (size_t)st.st_size);
	close(fd);
	return total;
}

static size_t do_block(struct task task, char *buffer)
{
	ssize_t got = pread(files[task.file], buffer, load.buffer, (off_t)(task.block * (uint64_t)load.buffer));

	if (got != (ssize_t)load.buffer)
		load_die("pread of '%s': %s", load.paths[task.file], got < 0 ? strerror(errno) : "short");
	return (size_t)got;
}

static void *worker(void *unused)
{
	char *buffer = aligned_alloc(4096, (load.buffer + 4095) & ~(size_t)4095);
	unsigned long long total = 0;
	uint64_t begun = load_now();
	size_t i;

	if (!buffer)
		load_die("no memory for a buffer of %zu bytes", load.buffer);
	while ((i = load_next++) < load.task_count) {
		struct task task = load.tasks[i];

		total += files ? do_block(task, buffer) : do_file(load.paths[task.file], buffer);
		begun = load_done(i, 1, begun);
		if (load.deadline && begun >= load.deadline)
			break;
		if (!pause_after.tv_nsec)
			continue;
		nanosleep(&pause_after, NULL);
		begun = load_now();
	}
	load_bytes += total;
	free(buffer);
	return unused;
}

/* --- the command line ------------------------------------------------------------------------------- */

static enum walk walk_named(const char *name)
{
	static const char *const names[] = { "none", "list", "stat" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum walk)i;
	load_die("'--walk %s': none, list or stat", name);
}

static void set_option(const char *name, const char *value)
{
	if (value && !strcmp(name, "--walk"))
		walk = walk_named(value);
	else if (value && !strcmp(name, "--pause"))
		pause_after.tv_nsec = (long)load_number(value, 0, 999999) * 1000;
	else
		load_option(name, value);
}

int main(int argc, char **argv)
{
	bool is_walk = argc > 2 && !strcmp(argv[1], "walk");
	int i = is_walk ? 3 : 4;

	if (argc < i || (!is_walk && strcmp(argv[1], "files") && strcmp(argv[1], "preads")))
		load_die("usage: reader files|preads ROOT LIST [OPTIONS] or reader walk ROOT [OPTIONS]");
	root = argv[2];
	for (; i < argc; i += 2)
		set_option(argv[i], argv[i + 1]);
	if (!is_walk)
		load_read_list(argv[3]);
	if (chdir(root))
		load_die("'%s': %s", root, strerror(errno));
	if (walk != WALK_NONE)
		walk_root(walk == WALK_STAT);
	if (!strcmp(argv[1], "files"))
		load_plan_files();
	else if (!strcmp(argv[1], "preads"))
		plan_preads();

	load_begin();
	if (is_walk) {
		walk_root(true);
		load_print_count(entries);
	} else {
		load_run_threads(worker);
		load_print_tasks();
	}
	printf("}\n");
	return 0;
}
