/* SPDX-License-Identifier: MIT */
/* Fixed sequences: what an interception of reads met once, the fewest calls of each. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int open_file(const char *name)
{
	int fd = open(name, O_RDONLY);

	log_result(fd, "open('%s')", name);
	return fd;
}

/* Looks at a descriptor in as many ways as there are. */
static void look(int fd)
{
	struct stat attributes;

	errno = 0;
	log_result(fcntl(fd, F_GETFL), "F_GETFL of %d", fd);
	log_result(lseek(fd, 0, SEEK_CUR), "offset of %d", fd);
	log_attributes(fstat(fd, &attributes), &attributes, "fstat(%d)", fd);
	log_bytes(read(fd, state.buffer, 50), state.buffer, "read(%d)", fd);
	log_bytes(pread(fd, state.buffer, 50, 7), state.buffer, "pread(%d)", fd);
}

static void another_over_it(void)
{
	int fd = open_file("dir/8k"), other = open_file("/dev/null");

	look(fd);
	log_result(dup2(other, fd), "dup2(%d, %d)", other, fd);
	look(fd);
	log_result(close(fd), "close(%d)", fd);
	look(fd);
}

static void number_used_again(void)
{
	int fd = open_file("dir/8k"), other;

	look(fd);
	log_result(close_range((unsigned)fd, (unsigned)fd, 0), "close_range(%d)", fd);
	other = memfd_create("other", 0);
	log_result(write(other, "quite another file", 18), "write(%d)", other);
	look(other);
}

static void closed_behind(void)
{
	int fd = open_file("dir/8k"), other;

	look(fd);
	raw_close(fd);
	look(fd);
	other = raw_openat(AT_FDCWD, "dir/text", O_RDONLY, 0);
	log_result(other, "bare openat");
	look(other);
}

static void everything_closed(void)
{
	int fd = open_file("dir/8k");

	look(fd);
	closefrom(3);
	look(open_file("dir/sub/64k"));
	look(open_file("small"));
}

static void offset_of_a_child(void)
{
	int fd = open_file("dir/8k"), status = 0;
	pid_t pid;

	look(fd);
	pid = fork();
	if (pid == 0) {
		look(fd);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	log_line("child %#x", (unsigned)status);
	look(fd);
}

static void offset_of_a_copy(void)
{
	int fd = open_file("dir/8k"), copy;

	look(fd);
	copy = dup(fd);
	look(copy);
	look(fd);
	close(fd);
	look(copy);
}

static void stream_of_it(void)
{
	int fd = open_file("dir/8k");
	FILE *stream;

	look(fd);
	stream = fdopen(fd, "r");
	log_bytes((int64_t)fread(state.buffer, 1, 9000, stream), state.buffer, "fread");
	log_result(fseek(stream, 10, SEEK_SET), "fseek");
	log_bytes((int64_t)fread(state.buffer, 1, 9, stream), state.buffer, "fread");
	log_result(fclose(stream), "fclose");
}

static void paths_around(void)
{
	static const char *const paths[] = { "dir/../small",    "./dir//8k", "dir/8k/",    "to-dir/../small",
					     "self/self/in",    "out",       "out-and-in", "../mnt/small",
					     "dir/sub/../less", "loop",      "small/",     "../outside/absolute" };

	for (unsigned i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int fd = open_file(paths[i]);

		look(fd);
		close(fd);
	}
}

const struct call cases[] = {
	{ "another file over it", 0, another_over_it },
	{ "its number used again", 0, number_used_again },
	{ "closed behind the library", 0, closed_behind },
	{ "everything closed", 0, everything_closed },
	{ "the offset that a child moves", 0, offset_of_a_child },
	{ "the offset that a copy moves", 0, offset_of_a_copy },
	{ "a stream of it", 0, stream_of_it },
	{ "paths around", 0, paths_around },
	{ NULL, 0, NULL },
};
