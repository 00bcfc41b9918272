/* SPDX-License-Identifier: MIT */
/* Eight processes that read a mount and compare it with the folders that it was made of, for guests without Python: see
 * tests/nvme/takeover.py.
 *
 * usage: readers random|walk MOUNTPOINT PROGRESS SOURCE…
 * They read at random in four ways, or all files in the order in which they lie. The folders have the same names in
 * them. The bytes of a file must be those that one of them has. Each error is a line "KIND PATH: REASON".
 *
 * The file PROGRESS has what was done so far: what each process has read, errors ECONNABORTED, other errors, and the
 * longest wait in milliseconds. It ends when there is a file PROGRESS.enough. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READERS 8u
#define SOURCES 2u
#define FILES   1024u
#define ROOM    (1u << 20)
#define REQUEST (128u << 10) /* of a direct read */

struct expected {
	char name[64]; /* below each folder */
	size_t size[SOURCES];
	unsigned char *bytes[SOURCES];
};

/* In memory that all processes share. */
struct happened {
	_Atomic bool enough;
	_Atomic unsigned reads[READERS], aborted, other, longest_ms;
};

static struct expected files[FILES];
static unsigned file_count, source_count;
static struct happened *happened;
static const char *mountpoint;
static bool walks;
static unsigned char *room; /* aligned for direct reads */

static void die(const char *about)
{
	perror(about);
	exit(1);
}

/* ---- what must be read ---- */

static ssize_t read_all(int fd, size_t step)
{
	size_t done = 0;
	ssize_t n;

	while (done < ROOM && (n = pread(fd, room + done, step < ROOM - done ? step : ROOM - done, (off_t)done)) != 0) {
		if (n < 0)
			return -1;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static void load_file(struct expected *file, unsigned source, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read_all(fd, ROOM);

	if (n < 0)
		die(path);
	close(fd);
	file->size[source] = (size_t)n;
	file->bytes[source] = malloc((size_t)n + 1);
	if (!file->bytes[source])
		die("malloc");
	memcpy(file->bytes[source], room, (size_t)n);
}

/* In the order of names, which is the same in every folder. */
static int by_name(const FTSENT **one, const FTSENT **other)
{
	return strcmp((*one)->fts_name, (*other)->fts_name);
}

static void load(char *folder)
{
	char *paths[] = { folder, NULL };
	FTS *walk = fts_open(paths, FTS_PHYSICAL, by_name);
	FTSENT *entry;

	file_count = 0;
	while (walk && (entry = fts_read(walk))) {
		if (entry->fts_info != FTS_F || file_count == FILES)
			continue;
		snprintf(files[file_count].name, sizeof(files[0].name), "%s", entry->fts_path + strlen(folder) + 1);
		load_file(&files[file_count++], source_count, entry->fts_path);
	}
	if (!walk || !file_count)
		die(folder);
	fts_close(walk);
	source_count++;
}

/* ---- reading ---- */

static void failed(const char *kind, const char *name, const char *reason)
{
	bool aborted = !reason && errno == ECONNABORTED;

	atomic_fetch_add(aborted ? &happened->aborted : &happened->other, 1);
	dprintf(STDOUT_FILENO, "%s %s: %s\n", kind, name, reason ? reason : strerror(errno));
}

static void read_file(const char *kind, const struct expected *file, int flags, bool drop)
{
	char path[4096];
	ssize_t n = -1;
	bool same = false;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", mountpoint, file->name);
	fd = open(path, O_RDONLY | O_CLOEXEC | flags);
	if (fd >= 0 && drop)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (fd >= 0)
		n = read_all(fd, flags ? REQUEST : ROOM);
	if (n < 0)
		failed(kind, file->name, NULL);
	for (unsigned i = 0; n >= 0 && i < source_count; i++)
		same |= (size_t)n == file->size[i] && !memcmp(room, file->bytes[i], (size_t)n);
	if (n >= 0 && !same)
		failed(kind, file->name, "wrong bytes");
	if (fd >= 0)
		close(fd);
}

static bool has_size(const char *name, off_t size)
{
	for (unsigned i = 0; i < file_count; i++) {
		for (unsigned j = 0; !strcmp(files[i].name, name) && j < source_count; j++) {
			if ((off_t)files[i].size[j] == size)
				return true;
		}
	}
	return false;
}

static unsigned count_in(const char *folder)
{
	size_t length = strlen(folder);
	unsigned count = 0;

	for (unsigned i = 0; i < file_count; i++)
		count += !strncmp(files[i].name, folder, length) && files[i].name[length] == '/';
	return count;
}

/* Lists the folder and asks for the attributes of all in it. */
static void list(const char *kind, const char *folder)
{
	char path[4096], name[512];
	struct dirent *entry;
	struct stat st;
	unsigned count = 0;
	DIR *stream;

	snprintf(path, sizeof(path), "%s/%s", mountpoint, folder);
	stream = opendir(path);
	if (!stream)
		return failed(kind, folder, NULL);
	while (errno = 0, (entry = readdir(stream))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		if (fstatat(dirfd(stream), entry->d_name, &st, 0) < 0)
			failed(kind, name, NULL);
		else if (!has_size(name, st.st_size))
			failed(kind, name, "wrong size");
	}
	if (errno)
		failed(kind, folder, NULL);
	else if (count != count_in(folder))
		failed(kind, folder, "wrong number of entries");
	closedir(stream);
}

static void read_one(unsigned number, const struct expected *file)
{
	char folder[sizeof(file->name)];

	switch (number % 4) {
	case 0:
		return read_file("cached", file, 0, false);
	case 1:
		return read_file("dropped", file, 0, true);
	case 2:
		return read_file("direct", file, O_DIRECT, false);
	default:
		snprintf(folder, sizeof(folder), "%s", file->name);
		*strchrnul(folder, '/') = '\0';
		return list("list", folder);
	}
}

static unsigned now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)(now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

static void reader(unsigned number)
{
	const struct timespec pause = { .tv_nsec = 10000000 }; /* others need the emulated processors, too */
	unsigned dice = number + 1, began, took, longest, i = number * file_count / READERS;

	while (!atomic_load(&happened->enough)) {
		dice = dice * 1103515245u + 12345u;
		began = now_ms();
		if (walks)
			read_file("walk", &files[i++ % file_count], 0, false);
		else
			read_one(number, &files[(dice >> 8) % file_count]);
		took = now_ms() - began;
		longest = atomic_load(&happened->longest_ms);
		while (took > longest && !atomic_compare_exchange_weak(&happened->longest_ms, &longest, took))
			;
		atomic_fetch_add(&happened->reads[number], 1);
		nanosleep(&pause, NULL);
	}
	exit(0);
}

/* ---- the first process ---- */

static void note(const char *progress)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s.new", progress);
	file = fopen(path, "we");
	if (!file)
		die(path);
	for (unsigned i = 0; i < READERS; i++)
		fprintf(file, "%u ", atomic_load(&happened->reads[i]));
	fprintf(file, "%u %u %u\n", atomic_load(&happened->aborted), atomic_load(&happened->other),
		atomic_load(&happened->longest_ms));
	if (fclose(file) || rename(path, progress) < 0)
		die(path);
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 50000000 };
	char enough[4096];

	if (argc < 5 || argc > 4 + (int)SOURCES || posix_memalign((void **)&room, 4096, ROOM))
		return 2;
	walks = !strcmp(argv[1], "walk");
	mountpoint = argv[2];
	for (int i = 4; i < argc; i++)
		load(argv[i]);
	happened = mmap(NULL, sizeof(*happened), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (happened == MAP_FAILED)
		die("mmap");
	for (unsigned i = 0; i < READERS; i++) {
		if (fork() == 0)
			reader(i);
	}
	snprintf(enough, sizeof(enough), "%s.enough", argv[3]);
	while (access(enough, F_OK) < 0) {
		note(argv[3]);
		nanosleep(&pause, NULL);
	}
	atomic_store(&happened->enough, true);
	while (wait(NULL) > 0)
		;
	note(argv[3]);
	return atomic_load(&happened->other) > 0;
}
