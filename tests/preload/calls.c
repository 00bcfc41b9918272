/* SPDX-License-Identifier: MIT */
/* calls FILE OTHER [GROUP…]: calls of the C library on a file, in the current directory, which it may fill. */
#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *calls_file, *calls_other;
off_t calls_size;
unsigned char bytes[CALLS_BYTES];
static size_t noted;

static const struct {
	const char *name;
	void (*run)(void);
} groups[] = {
	{ "reads", calls_reads },
	{ "control", calls_control },
	{ "opens", calls_opens },
	{ "real", calls_real },
	{ "copies", calls_copies },
	{ "sockets", calls_sockets },
	{ "waits", calls_waits },
	{ "streams", calls_streams },
	{ "numbers", calls_numbers },
	{ "processes", calls_processes },
	{ "names", calls_names },
	{ "raw", calls_raw },
	{ "rings", calls_rings },
	{ "off", calls_off },
};

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "calls: %s: %s\n", what, strerrordesc_np(errno));
	_exit(2);
}

static uint32_t sum(const void *data, size_t size)
{
	uint32_t value = 2166136261u;

	for (const unsigned char *byte = data, *end = byte + size; byte < end; byte++)
		value = (value ^ *byte) * 16777619u;
	return value;
}

int calls_begin(int state)
{
	int fd = open(calls_file, state == 3 ? O_RDONLY | O_CLOEXEC : O_RDONLY);

	if (fd < 0)
		fail(calls_file);
	if (state % 2 == 1 && lseek(fd, calls_size / (state + 1), SEEK_SET) < 0)
		fail("lseek");
	if (state == 2 && read(fd, bytes, 7) < 0)
		fail("read");
	memset(bytes, 0xee, sizeof(bytes));
	noted = 0;
	errno = 0;
	return fd;
}

/* The lowest number that is free: what is left open moves it. */
static int lowest(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* A text about the next bytes: the result of the read and their sum. */
static const char *next(int fd, char text[64])
{
	char data[16];
	ssize_t got = read(fd, data, sizeof(data));

	snprintf(text, 64, "%s %zd %08x", got < 0 ? strerrorname_np(errno) : "ok", got, got > 0 ? sum(data, got) : 0);
	return text;
}

void calls_end(const char *what, int state, int fd, long ret)
{
	static const char *states[] = { "start", "middle", "behind", "cloexec" };
	const char *error = ret < 0 && errno ? strerrorname_np(errno) : "ok";
	uint32_t found = sum(bytes, sizeof(bytes));
	off_t position = lseek(fd, 0, SEEK_CUR), copied;
	int copy = dup(fd), closed;
	struct stat st = { .st_ino = 0 };
	char first[64], second[64];

	copied = lseek(copy, 0, SEEK_CUR);
	next(fd, first);
	next(copy, second);
	close(copy);
	fstat(fd, &st);
	int flags = fcntl(fd, F_GETFL), fd_flags = fcntl(fd, F_GETFD);
	closed = close(fd);
	dprintf(STDOUT_FILENO, "%s, %s: %ld %s %08x; at %ld %ld, next %s, %s; inode %lu, flags %x %d, close %d %d\n",
		what, states[state], ret, error, found, position, copied, first, second, st.st_ino, flags, fd_flags,
		closed, lowest());
}

bool calls_child_begins(const char *what)
{
	pid_t child = fork();
	int status;

	if (child < 0)
		fail("fork");
	if (child == 0)
		return true;
	status = calls_wait(child);
	if (status != 0)
		dprintf(STDOUT_FILENO, "%s: the child ended with %d\n", what, status);
	return false;
}

void calls_child_ends(void)
{
	_exit(0);
}

void calls_note(const void *data, size_t size)
{
	if (noted + size > sizeof(bytes))
		fail("too much to note");
	memcpy(bytes + noted, data, size);
	noted += size;
}

int calls_drain(int fd)
{
	int error = errno, flags[2];
	struct stat st;
	char data[64];
	ssize_t got;
	off_t position;

	if (fd < 0)
		return fd;
	memset(&st, 0, sizeof(st));
	fstat(fd, &st);
	calls_note(&st, sizeof(st));
	flags[0] = fcntl(fd, F_GETFL);
	flags[1] = fcntl(fd, F_GETFD);
	calls_note(flags, sizeof(flags));
	got = read(fd, data, sizeof(data));
	calls_note(&got, sizeof(got));
	if (got > 0)
		calls_note(data, got);
	position = lseek(fd, 0, SEEK_CUR);
	calls_note(&position, sizeof(position));
	close(fd);
	errno = error;
	return fd;
}

int calls_scratch(void)
{
	int fd = open("scratch", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		fail("scratch");
	return fd;
}

long calls_scratch_end(int fd, long ret)
{
	int error = errno;

	if (pread(fd, bytes, sizeof(bytes), 0) < 0)
		fail("scratch");
	close(fd);
	errno = error;
	return ret;
}

int calls_wait(pid_t child)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct stat st;

	if (argc < 3 || stat(argv[1], &st) < 0) {
		dprintf(STDERR_FILENO, "Usage: calls FILE OTHER [GROUP…]\n");
		return 2;
	}
	if (open(argv[1], O_RDWR) >= 0 || errno != EROFS) {
		dprintf(STDERR_FILENO, "calls: '%s' is not on a filesystem that cannot be written\n", argv[1]);
		return 2;
	}
	calls_file = argv[1];
	calls_other = argv[2];
	calls_size = st.st_size;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++) {
		bool wanted = argc == 3;
		for (int arg = 3; arg < argc; arg++)
			wanted |= strcmp(argv[arg], groups[i].name) == 0;
		if (wanted)
			groups[i].run();
	}
	return 0;
}
