/* SPDX-License-Identifier: MIT */
/* Reads a tree as a training loader does and says how fast that went: the load of tests/bench/run.
 *
 * usage: reader files ROOT LIST [OPTIONS]    whole files of LIST in a seeded random order: open, fstat, read, close
 *        reader preads ROOT LIST [OPTIONS]   blocks of --buffer bytes, each of the files' blocks once, random order
 *        reader walk ROOT [OPTIONS]          getdents and stat of everything below ROOT
 * --threads N  --seed N  --seconds S (0: to the end)  --buffer BYTES
 * --walk none|list|stat   what happens before the clock starts: nothing, getdents, getdents and stat
 *
 * LIST has one path relative to ROOT a line. When the preparations are done it prints "ready" and waits for a line
 * on standard input; then the clock runs. The result is one JSON object. Any error ends it with status 1. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 256 };
enum walk { WALK_NONE, WALK_LIST, WALK_STAT };

/* One thing to do: a whole file, or the block at this offset of it. */
struct task {
	uint32_t file;
	uint32_t block;
};

struct load {
	const char *mode, *root;
	char **paths;
	int *files; /* open descriptors, for preads only */
	size_t path_count;
	struct task *tasks;
	size_t task_count;
	uint32_t *latency; /* of each task that was done, in ns; written by the thread that did it */
	size_t buffer;
	unsigned threads;
	uint64_t seed;
	double seconds;
	enum walk walk;
};

static struct load load = { .buffer = 256 << 10, .threads = 1, .seed = 1 };
static atomic_size_t next_task, entries;
static atomic_ullong bytes_read;
static uint64_t deadline; /* ns; 0: none */

static void __attribute__((noreturn, format(printf, 1, 2))) die(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "reader: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	/* Other threads may be reading: no atexit handlers under them. */
	_exit(1);
}

static void *must_alloc(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size);

	if (!memory)
		die("no memory for %zu × %zu bytes", count, size);
	return memory;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* --- the tree ------------------------------------------------------------------------------------ */

/* Everything below the open directory; takes the descriptor. */
static void walk_directory(int fd, bool with_stat)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	int below;

	if (!dir)
		die("fdopendir: %s", strerror(errno));
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		entries++;
		if (with_stat && fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			die("stat of '%s': %s", entry->d_name, strerror(errno));
		if (entry->d_type != DT_DIR)
			continue;
		below = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY);
		if (below < 0)
			die("directory '%s': %s", entry->d_name, strerror(errno));
		walk_directory(below, with_stat);
	}
	closedir(dir);
}

static void walk_root(bool with_stat)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		die("'%s': %s", load.root, strerror(errno));
	walk_directory(fd, with_stat);
}

static void read_list(const char *name)
{
	FILE *list = fopen(name, "re");
	size_t room = 0, size = 0;
	char *line = NULL;
	ssize_t length;

	if (!list)
		die("list '%s': %s", name, strerror(errno));
	while ((length = getline(&line, &size, list)) > 0) {
		if (line[length - 1] == '\n')
			line[length - 1] = 0;
		if (load.path_count == room) {
			room = room ? 2 * room : 1024;
			load.paths = realloc(load.paths, room * sizeof(*load.paths));
			if (!load.paths)
				die("no memory for %zu paths", room);
		}
		load.paths[load.path_count] = strdup(line);
		if (!load.paths[load.path_count++])
			die("no memory for a path");
	}
	free(line);
	fclose(list);
	if (!load.path_count)
		die("list '%s' is empty", name);
}

/* --- what there is to do --------------------------------------------------------------------------- */

static uint64_t random_next(void)
{
	/* xorshift64*, good enough to shuffle and the same everywhere */
	load.seed ^= load.seed >> 12;
	load.seed ^= load.seed << 25;
	load.seed ^= load.seed >> 27;
	return load.seed * 2685821657736338717u;
}

static void shuffle_tasks(void)
{
	for (size_t i = load.task_count - 1; i > 0; i--) {
		size_t other = random_next() % (i + 1);
		struct task task = load.tasks[i];

		load.tasks[i] = load.tasks[other];
		load.tasks[other] = task;
	}
}

static void plan_files(void)
{
	load.task_count = load.path_count;
	load.tasks = must_alloc(load.task_count, sizeof(*load.tasks));
	for (size_t i = 0; i < load.task_count; i++)
		load.tasks[i].file = (uint32_t)i;
	shuffle_tasks();
}

static void plan_preads(void)
{
	struct stat st;
	size_t n = 0;

	load.files = must_alloc(load.path_count, sizeof(*load.files));
	for (size_t i = 0; i < load.path_count; i++) {
		load.files[i] = open(load.paths[i], O_RDONLY);
		if (load.files[i] < 0 || fstat(load.files[i], &st))
			die("'%s': %s", load.paths[i], strerror(errno));
		load.task_count += (size_t)st.st_size / load.buffer;
	}
	load.tasks = must_alloc(load.task_count, sizeof(*load.tasks));
	for (size_t i = 0; i < load.path_count; i++) {
		if (fstat(load.files[i], &st))
			die("'%s': %s", load.paths[i], strerror(errno));
		for (size_t block = 0; block < (size_t)st.st_size / load.buffer; block++)
			load.tasks[n++] = (struct task){ (uint32_t)i, (uint32_t)block };
	}
	if (!n)
		die("no file has a block of %zu bytes", load.buffer);
	shuffle_tasks();
}

/* --- doing it -------------------------------------------------------------------------------------- */

static size_t do_file(const char *path, char *buffer)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	size_t total = 0;
	ssize_t got;

	if (fd < 0 || fstat(fd, &st))
		die("'%s': %s", path, strerror(errno));
	/* To the end of the file and once more, as read() without a size does in most languages. */
	while ((got = read(fd, buffer, load.buffer)) > 0)
		total += (size_t)got;
	if (got < 0)
		die("read of '%s': %s", path, strerror(errno));
	if (total != (size_t)st.st_size)
		die("'%s' gave %zu bytes of %zu", path, total, (size_t)st.st_size);
	close(fd);
	return total;
}

static size_t do_block(struct task task, char *buffer)
{
	ssize_t got = pread(load.files[task.file], buffer, load.buffer, (off_t)(task.block * (uint64_t)load.buffer));

	if (got != (ssize_t)load.buffer)
		die("pread of '%s': %s", load.paths[task.file], got < 0 ? strerror(errno) : "short");
	return (size_t)got;
}

static void *worker(void *unused)
{
	char *buffer = aligned_alloc(4096, (load.buffer + 4095) & ~(size_t)4095);
	unsigned long long total = 0;
	uint64_t begun = now(), ended;
	size_t i;

	if (!buffer)
		die("no memory for a buffer of %zu bytes", load.buffer);
	while ((i = next_task++) < load.task_count) {
		struct task task = load.tasks[i];

		total += load.files ? do_block(task, buffer) : do_file(load.paths[task.file], buffer);
		ended = now();
		load.latency[i] = (uint32_t)(ended - begun < UINT32_MAX ? ended - begun : UINT32_MAX);
		begun = ended;
		if (deadline && ended >= deadline)
			break;
	}
	bytes_read += total;
	free(buffer);
	return unused;
}

static void run_threads(void)
{
	pthread_t threads[MAX_THREADS];

	for (unsigned i = 0; i < load.threads; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			die("cannot start thread %u", i);
	for (unsigned i = 0; i < load.threads; i++)
		pthread_join(threads[i], NULL);
}

/* --- the result ------------------------------------------------------------------------------------ */

static int compare_latency(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double own_cpu(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double percentile(size_t count, double part)
{
	return count ? load.latency[(size_t)((double)(count - 1) * part)] / 1e3 : 0;
}

static void print_result(double seconds, double cpu)
{
	/* Tasks are taken in order and each that was taken was done: the first ones. */
	size_t done = next_task < load.task_count ? next_task : load.task_count;

	if (load.tasks)
		qsort(load.latency, done, sizeof(*load.latency), compare_latency);
	else
		done = entries;
	printf("{\"count\": %zu, \"bytes\": %llu, \"seconds\": %.6f, \"reader_cpu\": %.6f", done,
	       (unsigned long long)bytes_read, seconds, cpu);
	if (load.tasks)
		printf(", \"latency_us\": {\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"p999\": %.1f, \"max\": %.1f}",
		       percentile(done, .5), percentile(done, .9), percentile(done, .99), percentile(done, .999),
		       percentile(done, 1));
	printf("}\n");
}

/* --- the command line ------------------------------------------------------------------------------- */

static unsigned long long number(const char *text, unsigned long long least, unsigned long long most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || value < least || value > most)
		die("'%s' is not a number from %llu to %llu", text, least, most);
	return value;
}

static enum walk walk_named(const char *name)
{
	static const char *const names[] = { "none", "list", "stat" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return (enum walk)i;
	die("'--walk %s': none, list or stat", name);
}

static void set_option(const char *name, const char *value)
{
	if (!value)
		die("option '%s' needs a value", name);
	if (!strcmp(name, "--threads"))
		load.threads = (unsigned)number(value, 1, MAX_THREADS);
	else if (!strcmp(name, "--seed"))
		load.seed = number(value, 1, UINT64_MAX);
	else if (!strcmp(name, "--buffer"))
		load.buffer = number(value, 512, 64 << 20);
	else if (!strcmp(name, "--seconds"))
		load.seconds = strtod(value, NULL);
	else if (!strcmp(name, "--walk"))
		load.walk = walk_named(value);
	else
		die("unknown option '%s'", name);
}

static void wait_for_start(void)
{
	char line[16];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("nobody said go");
}

int main(int argc, char **argv)
{
	bool is_walk = argc > 2 && !strcmp(argv[1], "walk");
	int i = is_walk ? 3 : 4;
	uint64_t begun;
	double cpu;

	if (argc < i || (!is_walk && strcmp(argv[1], "files") && strcmp(argv[1], "preads")))
		die("usage: reader files|preads ROOT LIST [OPTIONS] or reader walk ROOT [OPTIONS]");
	load.mode = argv[1];
	load.root = argv[2];
	for (; i < argc; i += 2)
		set_option(argv[i], argv[i + 1]);
	if (!is_walk)
		read_list(argv[3]);
	if (chdir(load.root))
		die("'%s': %s", load.root, strerror(errno));
	if (load.walk != WALK_NONE)
		walk_root(load.walk == WALK_STAT);
	if (!strcmp(load.mode, "files"))
		plan_files();
	else if (!strcmp(load.mode, "preads"))
		plan_preads();
	load.latency = must_alloc(load.task_count, sizeof(*load.latency));

	wait_for_start();
	cpu = own_cpu();
	begun = now();
	if (load.seconds > 0)
		deadline = begun + (uint64_t)(load.seconds * 1e9);
	if (is_walk)
		walk_root(true);
	else
		run_threads();
	print_result((double)(now() - begun) / 1e9, own_cpu() - cpu);
	return 0;
}
