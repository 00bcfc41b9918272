/* SPDX-License-Identifier: MIT */
/* A process that opens files where it is told to, a command a line on standard input, and answers with a line each: for
 * places.sh, which changes in between what paths mean. Descriptors have names: single small letters. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fds['z' + 1];
static char bytes[1 << 20];

static int fd_of(const char *name)
{
	return strcmp(name, ".") ? fds[(unsigned char)*name & 127] : AT_FDCWD;
}

/* --- answers --- */

static void say_result(long result)
{
	if (result < 0)
		printf("%s\n", strerrorname_np(errno));
	else
		printf("%ld\n", result);
}

static void say_bytes(const char *at, long size)
{
	unsigned long sum = 5381;

	if (size < 0) {
		say_result(size);
		return;
	}
	for (long i = 0; i < size; i++)
		sum = sum * 33 + (unsigned char)at[i];
	printf("%ld bytes %lx '%.*s'\n", size, sum, (int)strcspn(at, "\n"), at);
}

static void say_attributes(const struct stat *st)
{
	printf("device %lx inode %lu mode %o links %lu user %u group %u size %ld blocks %ld of %ld modified %ld.%09ld",
	       (unsigned long)st->st_dev, (unsigned long)st->st_ino, st->st_mode, (unsigned long)st->st_nlink,
	       st->st_uid, st->st_gid, (long)st->st_size, (long)st->st_blocks, (long)st->st_blksize,
	       (long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

static void say_stat(int result, const struct stat *st)
{
	if (result < 0) {
		say_result(result);
		return;
	}
	say_attributes(st);
	printf("\n");
}

/* --- commands --- */

static long read_all(int fd)
{
	long size = pread(fd, bytes, sizeof(bytes) - 1, 0);

	bytes[size < 0 ? 0 : size] = 0;
	return size;
}

/* All that is to be known of a file. */
static void do_file(const char *directory, const char *path)
{
	int fd = openat(fd_of(directory), path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		say_result(-1);
		return;
	}
	printf("descriptor %d: ", fd);
	say_attributes(&st);
	printf(", ");
	say_bytes(bytes, read_all(fd));
	close(fd);
}

static void do_open(const char *name, const char *path)
{
	say_result(fds[(unsigned char)*name & 127] = open(path, O_RDONLY));
}

static void do_open_folder(const char *name, const char *path)
{
	say_result(fds[(unsigned char)*name & 127] = open(path, O_RDONLY | O_DIRECTORY));
}

static void do_read(const char *name, const char *none)
{
	(void)none;
	say_bytes(bytes, read_all(fd_of(name)));
}

static void do_next(const char *name, const char *count)
{
	long size = read(fd_of(name), bytes, (size_t)atol(count));

	bytes[size < 0 ? 0 : size] = 0;
	say_bytes(bytes, size);
}

static void do_stat(const char *name, const char *none)
{
	struct stat st;
	int r = fstat(fd_of(name), &st);

	(void)none;
	say_stat(r, &st);
}

static void do_path(const char *path, const char *none)
{
	struct stat st;
	int r = stat(path, &st);

	(void)none;
	say_stat(r, &st);
}

/* Makes it real. */
static void do_map(const char *name, const char *size)
{
	char *map = mmap(NULL, (size_t)atol(size), PROT_READ, MAP_PRIVATE, fd_of(name), 0);

	if (map == MAP_FAILED) {
		say_result(-1);
		return;
	}
	say_bytes(map, atol(size));
	munmap(map, (size_t)atol(size));
}

static void do_dup(const char *name, const char *other)
{
	say_result(fds[(unsigned char)*other & 127] = dup(fd_of(name)));
}

static void do_link(const char *name, const char *none)
{
	char path[32];
	long size;

	(void)none;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd_of(name));
	size = readlink(path, bytes, sizeof(bytes) - 1);
	bytes[size < 0 ? 0 : size] = 0;
	say_bytes(bytes, size);
}

static void do_close(const char *name, const char *none)
{
	(void)none;
	say_result(close(fd_of(name)));
}

static void do_chdir(const char *path, const char *none)
{
	(void)none;
	say_result(chdir(path));
}

static void *chdir_unseen(void *path)
{
	return syscall(SYS_chdir, path) == 0 ? path : NULL;
}

/* By a thread, and past the C library's chdir(). */
static void do_chdir_unseen(const char *path, const char *none)
{
	pthread_t thread;
	void *result = NULL;

	(void)none;
	pthread_create(&thread, NULL, chdir_unseen, (void *)(uintptr_t)path);
	pthread_join(thread, &result);
	say_result(result ? 0 : -1);
}

static void do_fchdir(const char *name, const char *none)
{
	(void)none;
	say_result(fchdir(fd_of(name)));
}

static void do_chroot(const char *path, const char *none)
{
	(void)none;
	say_result(chroot(path));
}

static void do_unshare(const char *none, const char *nothing)
{
	(void)none, (void)nothing;
	say_result(unshare(CLONE_NEWNS));
}

static void do_setns(const char *name, const char *none)
{
	(void)none;
	say_result(setns(fd_of(name), CLONE_NEWNS));
}

static void do_user(const char *user, const char *none)
{
	(void)none;
	say_result(setresuid((uid_t)atol(user), (uid_t)atol(user), (uid_t)atol(user)));
}

static void do_effective(const char *user, const char *none)
{
	(void)none;
	say_result(seteuid((uid_t)atol(user)));
}

static const struct command {
	const char *name;
	void (*call)(const char *first, const char *second);
} commands[] = {
	{ "file", do_file },	 { "open", do_open },	      { "folder", do_open_folder }, { "read", do_read },
	{ "next", do_next },	 { "stat", do_stat },	      { "path", do_path },	    { "map", do_map },
	{ "dup", do_dup },	 { "link", do_link },	      { "close", do_close },	    { "chdir", do_chdir },
	{ "fchdir", do_fchdir }, { "chroot", do_chroot },     { "unshare", do_unshare },    { "setns", do_setns },
	{ "user", do_user },	 { "effective", do_effective }, { "unseen", do_chdir_unseen },
};

static int do_line(char *line)
{
	const char *name = strtok(line, " \n"), *first = strtok(NULL, " \n"), *second = strtok(NULL, " \n");

	for (size_t i = 0; name && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(name, commands[i].name)) {
			commands[i].call(first ? first : "", second ? second : "");
			return 0;
		}
	return name && !strcmp(name, "quit") ? 1 : -1;
}

int main(void)
{
	char line[4096];
	int r = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (r == 0 && fgets(line, sizeof(line), stdin))
		r = do_line(line);
	return r < 0 ? 2 : 0;
}
