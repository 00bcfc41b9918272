/* SPDX-License-Identifier: MIT */
/* Single calls, one a name, with what they must answer.
 * usage: library-cases CASE VOLUME [ARGUMENT] */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t find(struct dsfs *fs, const char *path)
{
	int64_t id;

	if (dsfs_lookup(fs, &path, 1, &id) != 0)
		FAIL("lookup of '%s'", path);
	return (uint64_t)id;
}

static void expect(const char *what, int64_t found, int64_t expected)
{
	if (found != expected)
		FAIL("%s: %lld, expected %lld", what, (long long)found, (long long)expected);
}

/* Prints contents, or the reason. */
static int read_path(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	void *contents = NULL;
	ssize_t size = dsfs_read_file(fs, path, &contents);

	if (size < 0)
		printf("%s: %s\n", strerror((int)-size), dsfs_reason());
	else
		fwrite(contents, 1, (size_t)size, stdout);
	free(contents);
	dsfs_close(fs);
	return size < 0;
}

/* A later release's structure is as good as ours until it asks for what we do not know. */
static void wrong_options(const char *volume)
{
	struct {
		struct dsfs_options known;
		uint64_t later;
	} options = { .known.size = sizeof(options) };
	struct dsfs *fs;

	expect("later options", dsfs_open(volume, &options.known, &fs), 0);
	dsfs_close(fs);
	options.later = 1;
	expect("a later option", dsfs_open(volume, &options.known, &fs), -E2BIG);
	options.known.size = sizeof(options.known) - 1;
	expect("half an option", dsfs_open(volume, &options.known, &fs), -EINVAL);
}

/* Mistakes of callers. */
static int wrong_calls(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_info info = { .size = sizeof(info) };
	struct dsfs_read reads[4];
	struct dsfs_queue *queue;
	uint64_t id = find(fs, path);
	char byte;

	wrong_options(volume);
	expect("info", dsfs_info(fs, &info), 0);
	expect("another version", dsfs_pread(fs, id + (UINT64_C(1) << 40), &byte, 1, 0), -ESTALE);
	if (!strstr(dsfs_reason(), "look the path up again"))
		FAIL("the reason");
	expect("no such id", dsfs_pread(fs, info.root + info.ids, &byte, 1, 0), -ENOENT);
	expect("id 0", dsfs_pread(fs, 0, &byte, 1, 0), -ESTALE);
	expect("a directory", dsfs_pread(fs, info.root, &byte, 1, 0), -EISDIR);
	expect("a depth", dsfs_queue_new(fs, 1025, &queue), -EINVAL);
	expect("a queue", dsfs_queue_new(fs, 0, &queue), 0);
	reads[0] = (struct dsfs_read){ .id = id, .size = 1 };
	expect("a queue has no arena", dsfs_queue_submit(queue, reads, 1), -EINVAL);
	expect("nothing to wait for", dsfs_queue_wait(queue, 1, &(struct dsfs_read *){ NULL }, 1, -1), 0);
	dsfs_queue_free(queue);
	expect("no arena", dsfs_read_many(fs, reads, 1, NULL), -EINVAL);

	/* Wrong ones do not keep others from being read; the first one's error is returned. */
	reads[0] = (struct dsfs_read){ .id = id, .size = 1, .buffer = &byte };
	reads[1] = (struct dsfs_read){ .id = info.root, .size = 1, .buffer = &byte };
	reads[2] = (struct dsfs_read){ .id = 5, .size = 1, .buffer = &byte };
	reads[3] = (struct dsfs_read){ .id = id, .size = 1, .buffer = &byte };
	expect("some are wrong", dsfs_read_many(fs, reads, 4, NULL), -EISDIR);
	expect("right", reads[0].result, 1);
	expect("a directory", reads[1].result, -EISDIR);
	expect("another version", reads[2].result, -ESTALE);
	expect("right", reads[3].result, 1);
	dsfs_close(fs);
	dsfs_close(NULL);
	return 0;
}

/* A caller that submits reads one by one and only polls gets them all, with a queue of every depth. */
static int looked_at(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	uint64_t id = find(fs, path);
	struct dsfs_read reads[40], *done[40];
	static char bytes[40][512];
	struct dsfs_queue *queue;

	for (unsigned depth = 1; depth <= 64; depth *= 4) {
		expect("a queue", dsfs_queue_new(fs, depth, &queue), 0);
		for (unsigned i = 0; i < 40; i++) {
			reads[i] = (struct dsfs_read){ .id = id, .size = 512, .offset = i * 512, .buffer = bytes[i],
						       .result = -1 };
			expect("submit", dsfs_queue_submit(queue, &reads[i], 1), 0);
		}
		for (int count = 0, more; count < 40; count += more) {
			more = dsfs_queue_wait(queue, 0, done, 40, 0);
			for (int i = 0; i < more; i++)
				expect("a read", done[i]->result, 512);
		}
		expect("nothing is left", dsfs_queue_wait(queue, 1, done, 40, -1), 0);
		dsfs_queue_free(queue);
	}
	dsfs_close(fs);
	return 0;
}

static int64_t read_twice(struct dsfs *fs, uint64_t id)
{
	struct dsfs_read reads[2] = { { .id = id, .size = UINT64_MAX }, { .id = id, .size = UINT64_MAX } };
	struct dsfs_arena *arena;

	expect("an arena", dsfs_arena_new(&arena), 0);
	dsfs_read_many(fs, reads, 2, arena);
	expect("both", reads[1].result, reads[0].result);
	dsfs_arena_free(arena);
	return reads[0].result;
}

static void expect_open(int first)
{
	for (int fd = first; fd < 600; fd++)
		expect("ours is still open", fcntl(fd, F_GETFD), 0);
}

static void expect_open_in_child(int first)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		expect_open(first);
		_exit(0);
	}
	expect("the child", waitpid(child, &status, 0), child);
	expect("its status", status, 0);
}

/* A program that closes whatever it has not opened, and gets the same numbers for files of its own. */
static int closed_descriptors(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	uint64_t id = find(fs, path);
	struct dsfs_queue *queue;
	int first = 0, fd; /* of the program; what the handle opened again is below them */
	char bytes[65536];
	struct dsfs_read read = { .id = id, .size = 1, .buffer = bytes }, *done;

	if (dsfs_pread(fs, id, bytes, sizeof(bytes), 0) <= 0 || read_twice(fs, id) <= 0)
		FAIL("before");
	expect("a queue", dsfs_queue_new(fs, 0, &queue), 0);
	closefrom(3);
	expect("two", read_twice(fs, id), -EBADF);
	expect("the queue", dsfs_queue_submit(queue, &read, 1), 0);
	expect("the queue", dsfs_queue_wait(queue, 1, &done, 1, -1), 1);
	expect("its read", read.result, -EBADF);
	expect("closed", dsfs_pread(fs, id, bytes, sizeof(bytes), 0), -EBADF);
	do {
		fd = open("/proc/self/exe", O_RDONLY);
		first = first ? first : fd;
	} while (fd >= 0 && fd < 600);
	expect("something else", dsfs_pread(fs, id, bytes, sizeof(bytes), 0), -EBADF);
	puts(dsfs_reason());
	expect("two of something else", read_twice(fs, id), -EBADF);
	expect("the queue", dsfs_queue_submit(queue, &read, 1), 0);
	expect("the queue", dsfs_queue_wait(queue, 1, &done, 1, -1), 1);
	expect("its read", read.result, -EBADF);
	expect("refresh", dsfs_refresh(fs), -EBADF);
	expect_open_in_child(first);
	dsfs_queue_free(queue);
	dsfs_close(fs);
	expect_open(first);
	return 0;
}

static void use_queue_in_child(struct dsfs_queue *queue, struct dsfs_read *read)
{
	struct dsfs_read *done;

	expect("submit in a child", dsfs_queue_submit(queue, read, 1), -EBADF);
	if (!strstr(dsfs_reason(), "a child makes one of its own"))
		FAIL("the reason");
	expect("wait in a child", dsfs_queue_wait(queue, 1, &done, 1, -1), -EBADF);
	dsfs_queue_free(queue);
	_exit(0);
}

/* It gets nothing of a queue that its parent made, and takes nothing from it. */
static int queue_in_child(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_read reads[8], *done[8];
	static char bytes[8][50000];
	struct dsfs_queue *queue;
	int status = 1, count = 0;
	pid_t child;

	for (unsigned i = 0; i < 8; i++)
		reads[i] = (struct dsfs_read){ .id = find(fs, path), .size = sizeof(bytes[i]), .buffer = bytes[i] };
	expect("a queue", dsfs_queue_new(fs, 0, &queue), 0);
	expect("submit", dsfs_queue_submit(queue, reads, 8), 0);
	child = fork();
	if (child == 0)
		use_queue_in_child(queue, &reads[0]);
	expect("the child", waitpid(child, &status, 0), child);
	expect("its status", status, 0);
	while (count < 8)
		count += dsfs_queue_wait(queue, 1, done, 8, -1);
	for (unsigned i = 0; i < 8; i++)
		expect("a read", reads[i].result, sizeof(bytes[i]));
	dsfs_queue_free(queue);
	dsfs_close(fs);
	return 0;
}

/* The damaged one fails, and all others are right but for the folder. */
static void check_one_damaged(const struct dsfs_read *reads, const struct dsfs_info *info, uint64_t damaged)
{
	uint64_t right = 0;

	for (uint64_t i = 1; i < info->ids; i++) {
		if (reads[i].id == damaged)
			expect("the damaged one", reads[i].result, -EBADMSG);
		right += reads[i].result >= 0;
	}
	expect("the others", (int64_t)right, (int64_t)info->files - 1);
}

/* The same into buffers, by a call and by a queue. */
static void one_damaged_in_buffers(struct dsfs *fs, const struct dsfs_info *info, uint64_t damaged)
{
	struct dsfs_read *reads = calloc(info->ids, sizeof(*reads)), **done = calloc(info->ids, sizeof(*done));
	const size_t count = info->ids - 1, room = 100000;
	char *bytes = malloc(info->ids * room);
	struct dsfs_queue *queue;

	for (uint64_t i = 0; i < info->ids; i++)
		reads[i] = (struct dsfs_read){ .id = info->root + i, .size = room, .buffer = bytes + i * room };
	expect("the first that fails", dsfs_read_many(fs, reads + 1, count, NULL), -EBADMSG);
	check_one_damaged(reads, info, damaged);
	for (uint64_t i = 0; i < info->ids; i++)
		reads[i].result = 0;
	expect("a queue", dsfs_queue_new(fs, 0, &queue), 0);
	expect("submit", dsfs_queue_submit(queue, reads + 1, count), 0);
	expect("wait", dsfs_queue_wait(queue, count, done, count, -1), (int64_t)count);
	check_one_damaged(reads, info, damaged);
	dsfs_queue_free(queue);
	free(bytes);
	free(done);
	free(reads);
}

/* Files that are read in one go with a damaged one are right; what comes behind it is a folder. */
static int one_damaged(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_info info = { .size = sizeof(info) };
	uint64_t damaged = find(fs, path);
	struct dsfs_arena *arena;
	struct dsfs_read *reads;

	dsfs_info(fs, &info);
	reads = calloc(info.ids, sizeof(*reads));
	expect("an arena", dsfs_arena_new(&arena), 0);
	for (uint64_t i = 0; i < info.ids; i++)
		reads[i] = (struct dsfs_read){ .id = info.root + i, .size = UINT64_MAX };
	expect("the first that fails", dsfs_read_many(fs, reads + 1, info.ids - 1, arena), -EBADMSG);
	puts(dsfs_reason());
	check_one_damaged(reads, &info, damaged);
	one_damaged_in_buffers(fs, &info, damaged);
	dsfs_arena_free(arena);
	dsfs_close(fs);
	free(reads);
	return 0;
}

static unsigned asked; /* for the user of the filesystem */
static const char *source;

/* Of libc, for the library as well. */
int setfsuid(uid_t uid)
{
	asked += uid == (uid_t)-1;
	return (int)syscall(SYS_setfsuid, uid);
}

static int compare_with_kernel(void *argument, const struct dsfs_dirent *entry)
{
	char path[512], byte;
	ssize_t r;
	int fd;

	if (entry->type != DT_REG)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", source, entry->path);
	fd = open(path, O_RDONLY);
	if (fd < 0 && errno != EACCES)
		FAIL("'%s': %s", path, strerror(errno));
	r = dsfs_pread(argument, entry->id, &byte, 1, 0);
	expect(path, r < 0 ? r : 0, fd < 0 ? -EACCES : 0);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* A user that root becomes by setfsuid(2) and setfsgid(2) may read what the kernel lets him read in the source. */
static int filesystem_users(const char *volume, const char *path)
{
	static const unsigned users[][2] = { { 0, 0 }, { 65534, 65534 }, { 65534, 0 }, { 0, 65534 }, { 1, 1 },
					     { 0, 0 } };
	struct dsfs *fs = files_open(volume);
	struct dsfs_info info = { .size = sizeof(info) };

	source = path;
	dsfs_info(fs, &info);
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++) {
		setfsgid(users[i][1]);
		setfsuid(users[i][0]);
		expect("a walk", dsfs_walk(fs, info.root, compare_with_kernel, fs), 0);
	}
	dsfs_close(fs);
	return 0;
}

/* So many files may not be read; prints why. */
static int refused(const char *volume, const char *count)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_info info = { .size = sizeof(info) };
	int found = 0;
	char byte;

	dsfs_info(fs, &info);
	for (uint64_t i = 0; i < info.ids; i++)
		if (dsfs_pread(fs, info.root + i, &byte, 1, 0) == -EACCES) {
			puts(dsfs_reason());
			found++;
		}
	expect("refused", found, atoi(count));
	expect("calls of setfsuid(2), which hardened services must not make", asked, 0);
	dsfs_close(fs);
	return 0;
}

/* A queue that root made reads nothing for root alone any more once the thread is another user. */
static int another_user(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_queue *queue;
	char byte;
	struct dsfs_read read = { .id = find(fs, path), .size = 1, .buffer = &byte }, *done;

	expect("a queue", dsfs_queue_new(fs, 1, &queue), 0);
	for (unsigned i = 0; i < 2; i++) {
		expect("submit", dsfs_queue_submit(queue, &read, 1), 0);
		expect("wait", dsfs_queue_wait(queue, 1, &done, 1, -1), 1);
		expect("the read", read.result, i ? -EACCES : 1);
		expect("another user", seteuid(i ? 0 : 65534), 0); /* at last root, as sanitizers need */
	}
	dsfs_queue_free(queue);
	dsfs_close(fs);
	return 0;
}

static void *one_batch(void *argument)
{
	struct dsfs *fs = argument;
	struct dsfs_info info = { .size = sizeof(info) };
	struct dsfs_read reads[8];
	struct dsfs_arena *arena;
	unsigned right = 0;

	dsfs_info(fs, &info);
	expect("an arena", dsfs_arena_new(&arena), 0);
	for (unsigned i = 0; i < 8; i++)
		reads[i] = (struct dsfs_read){ .id = info.root + info.ids - 1 - i, .size = UINT64_MAX };
	dsfs_read_many(fs, reads, 8, arena);
	for (unsigned i = 0; i < 8; i++)
		right += reads[i].result >= 0 || reads[i].result == -EISDIR;
	expect("reads", right, 8);
	dsfs_arena_free(arena);
	return NULL;
}

static unsigned count_descriptors(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 2048; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Threads that end leave nothing behind, and neither does a handle. */
static int nothing_stays(const char *volume, const char *path)
{
	unsigned before = count_descriptors(), opened;
	struct dsfs *fs = files_open(volume);
	pthread_t thread;

	opened = count_descriptors();
	for (unsigned i = 0; i < 100; i++) {
		expect("a thread", pthread_create(&thread, NULL, one_batch, fs), 0);
		pthread_join(thread, NULL);
	}
	expect("descriptors after threads", count_descriptors(), opened);
	for (unsigned i = 0; i < 20; i++) {
		struct dsfs *other = files_open(volume);

		one_batch(other);
		expect("root", find(other, path) != 0, 1);
		dsfs_close(other);
	}
	one_batch(fs);
	dsfs_close(fs);
	expect("descriptors after all", count_descriptors(), before);
	return 0;
}

/* As many descriptors as the handle has, and none more: reads go on without rings. */
static int few_descriptors(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct rlimit limit = { 0 };
	pthread_t thread;
	char byte;

	expect("the limit", setrlimit(RLIMIT_NOFILE, &limit), 0);
	one_batch(fs);
	expect("a thread", pthread_create(&thread, NULL, one_batch, fs), 0);
	pthread_join(thread, NULL);
	expect("pread", dsfs_pread(fs, find(fs, path), &byte, 1, 0), 1);
	dsfs_close(fs);
	return 0;
}

/* A program that has all keys of threads for itself. */
static int no_keys(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	pthread_key_t key, last = 0;
	int64_t id;

	while (pthread_key_create(&key, NULL) == 0)
		last = key;
	expect("lookup", dsfs_lookup(fs, &path, 1, &id), -EAGAIN);
	puts(dsfs_reason());
	pthread_key_delete(last);
	expect("lookup", dsfs_lookup(fs, &path, 1, &id), 0);
	dsfs_close(fs);
	return 0;
}

/* A caller that only polls gets all reads in the end. */
static int polls(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_read reads[4], *done[4];
	struct dsfs_queue *queue;
	uint64_t id = find(fs, path);
	char bytes[4][1000];
	int count = 0;

	expect("a queue", dsfs_queue_new(fs, 1, &queue), 0);
	for (unsigned i = 0; i < 4; i++)
		reads[i] = (struct dsfs_read){ .id = id, .offset = i, .size = 1000, .buffer = bytes[i] };
	expect("submit", dsfs_queue_submit(queue, reads, 4), 0);
	while (count < 4) {
		int more = dsfs_queue_wait(queue, 0, done, 4, 0);

		if (more < 0)
			FAIL("wait");
		count += more;
	}
	for (unsigned i = 0; i < 4; i++)
		expect("a read", reads[i].result, 1000);
	dsfs_queue_free(queue);
	dsfs_close(fs);
	return 0;
}

static _Atomic bool is_away; /* the device */
static _Atomic int64_t slept; /* ns, the longest that was asked for while it was */

/* Of libc, for the library as well: without an io_uring it reads by this. */
ssize_t preadv(int fd, const struct iovec *iov, int count, off_t offset)
{
	if (!is_away)
		return syscall(SYS_preadv, fd, iov, count, offset, 0);
	errno = EIO;
	return -1;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	int64_t length = time->tv_sec * INT64_C(1000000000) + time->tv_nsec;

	if (is_away && length > slept)
		slept = length;
	return (int)syscall(SYS_nanosleep, time, left);
}

/* A wait with a limit sleeps no longer than that while the reads wait for their device. */
static int limited_wait(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_queue *queue;
	static char bytes[50000];
	struct dsfs_read read = { .id = find(fs, path), .size = sizeof(bytes), .buffer = bytes }, *done;

	expect("a queue", dsfs_queue_new(fs, 0, &queue), 0);
	is_away = true;
	expect("submit", dsfs_queue_submit(queue, &read, 1), 0);
	for (unsigned i = 0; i < 3; i++)
		expect("wait", dsfs_queue_wait(queue, 1, &done, 1, 20), 0);
	if (!slept || slept > 20000000)
		FAIL("a wait of 20 ms slept for %lld ns", (long long)slept);
	is_away = false;
	expect("the read, once the device is back", dsfs_queue_wait(queue, 1, &done, 1, -1), 1);
	expect("its result", read.result, sizeof(bytes));
	dsfs_queue_free(queue);
	dsfs_close(fs);
	return 0;
}

/* Another version becomes current while reads of the first go on. */
static int refreshes(const char *volume, const char *path)
{
	struct dsfs *fs = files_open(volume);
	struct dsfs_info info = { .size = sizeof(info) };
	uint64_t id = find(fs, path);
	char byte, line[16];

	expect("the same", dsfs_refresh(fs), 0);
	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	expect("stays", dsfs_pread(fs, id, &byte, 1, 0), 1);
	expect("another", dsfs_refresh(fs), 1);
	expect("the same again", dsfs_refresh(fs), 0);
	expect("the former id", dsfs_pread(fs, id, &byte, 1, 0), -ESTALE);
	expect("the new id", dsfs_pread(fs, find(fs, path), &byte, 1, 0), 1);
	expect("info", dsfs_info(fs, &info), 0);
	puts(info.label);
	dsfs_close(fs);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *volume, const char *argument);
	} cases[] = {
		{ "read", read_path },
		{ "wrong-calls", wrong_calls },
		{ "looked-at", looked_at },
		{ "closed-descriptors", closed_descriptors },
		{ "queue-in-child", queue_in_child },
		{ "nothing-stays", nothing_stays },
		{ "few-descriptors", few_descriptors },
		{ "no-keys", no_keys },
		{ "polls", polls },
		{ "limited-wait", limited_wait },
		{ "refreshes", refreshes },
		{ "refused", refused },
		{ "filesystem-users", filesystem_users },
		{ "another-user", another_user },
		{ "one-damaged", one_damaged },
	};

	for (size_t i = 0; argc == 4 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run(argv[2], argv[3]);
	return 2;
}
