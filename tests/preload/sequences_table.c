/* SPDX-License-Identifier: MIT */
/* Calls of sequences that change the table of descriptors. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A number that dup2 and its like may put a file on: never stdout and stderr. */
static int any_target(void)
{
	switch (choose(12)) {
	case 0:
		return 0;
	case 1:
		return -1;
	case 2:
		return 30;
	case 3:
		return 2000000;
	default:
		return chance(60) ? choose_descriptor() : 3 + (int)choose(9);
	}
}

static void duplicate(void)
{
	static const char *const names[] = { "dup", "dup2", "dup3", "SYS_dup", "SYS_dup3" };
	int fd = choose_regular(), target = any_target(),
	    flags = chance(40) ? O_CLOEXEC :
		    chance(5)  ? 7 :
				 0,
	    result = -1;
	unsigned kind = (unsigned)choose(5);

	if (target == 1 || target == 2)
		return;
	errno = 0;
	switch (kind) {
	case 0:
		result = dup(fd);
		break;
	case 1:
		result = dup2(fd, target);
		break;
	case 2:
		result = dup3(fd, target, flags);
		break;
	case 3:
		result = (int)syscall(SYS_dup, fd);
		break;
	case 4:
		result = (int)syscall(SYS_dup3, fd, target, flags);
	}
	log_result(result, "%s(%d, %d, %#x)", names[kind], fd, target, flags);
}

static void duplicate_above(void)
{
	static const int least[] = { 0, 3, 5, 10, 20, 35, -1, 1000000 };
	int fd = choose_regular(), from = least[choose(8)], command = chance(50) ? F_DUPFD : F_DUPFD_CLOEXEC;

	errno = 0;
	log_result(chance(70) ? fcntl(fd, command, from) : (int)syscall(SYS_fcntl, fd, command, from),
		   "fcntl(%d, %s, %d)", fd, command == F_DUPFD ? "F_DUPFD" : "F_DUPFD_CLOEXEC", from);
}

/* A pipe or socket stays without blocking: nobody writes into it meanwhile. */
static int any_status(int fd)
{
	static const int words[] = { 0,        O_APPEND, O_NONBLOCK, O_NOATIME,
				     O_DIRECT, O_ASYNC,  O_WRONLY,   O_APPEND | O_NONBLOCK };
	struct stat attributes;
	int flags = words[choose(8)];

	if (fstat(fd, &attributes) != 0 || !S_ISREG(attributes.st_mode))
		flags = (flags | O_NONBLOCK) & ~(O_DIRECT | O_ASYNC);
	return flags;
}

static void control(void)
{
	static const int others[] = { F_GETOWN, F_GETSIG, F_GETLEASE, F_GETPIPE_SZ, F_GET_SEALS, F_GET_RW_HINT, 9999 };
	int fd = choose_regular(), argument, command;

	errno = 0;
	switch (choose(6)) {
	case 0:
		log_result(fcntl(fd, F_GETFD), "fcntl(%d, F_GETFD)", fd);
		break;
	case 1:
		argument = (int)choose(2);
		log_result(fcntl(fd, F_SETFD, argument), "fcntl(%d, F_SETFD, %d)", fd, argument);
		break;
	case 2:
		log_result(chance(60) ? fcntl(fd, F_GETFL) : fcntl64(fd, F_GETFL), "fcntl(%d, F_GETFL)", fd);
		break;
	case 3:
		argument = any_status(fd);
		log_result(fcntl(fd, F_SETFL, argument), "fcntl(%d, F_SETFL, %#x)", fd, argument);
		log_result(fcntl(fd, F_GETFL), "fcntl(%d, F_GETFL)", fd);
		break;
	case 4:
		log_result(syscall(SYS_fcntl, fd, F_GETFL), "SYS_fcntl(%d, F_GETFL)", fd);
		break;
	case 5:
		command = others[choose(7)];
		log_result(fcntl(fd, command, 0ul), "fcntl(%d, %d)", fd, command);
	}
}

static void close_one(void)
{
	int fd = choose_descriptor();

	if (fd == 0)
		return;
	errno = 0;
	log_result(chance(75) ? close(fd) : (int)syscall(SYS_close, fd), "close(%d)", fd);
	if (chance(10))
		log_result(close(fd), "close(%d) again", fd);
}

static void close_many(void)
{
	static const int flag_words[] = { 0, 0, 0, CLOSE_RANGE_CLOEXEC, CLOSE_RANGE_UNSHARE, 64 };
	unsigned first = 3 + (unsigned)choose(10), last = first + (unsigned)choose(8), flags;

	errno = 0;
	switch (choose(4)) {
	case 0:
		closefrom((int)first);
		log_line("closefrom(%u)", first);
		return;
	case 1:
		last = UINT32_MAX;
		break;
	case 2:
		last = chance(10) ? first - 1 : last;
	}
	flags = (unsigned)flag_words[choose(6)];
	log_result(chance(70) ? close_range(first, last, (int)flags) :
				(int)syscall(SYS_close_range, first, last, flags),
		   "close_range(%u, %u, %u)", first, last, flags);
}

/* A stream would go on reading the number, inside of the C library, when it is that of a placeholder. */
static bool is_of_stream(int fd)
{
	for (unsigned i = 0; i < STREAMS; i++)
		if (state.streams[i] && fileno(state.streams[i]) >= fd && fileno(state.streams[i]) < fd + 5)
			return true;
	return false;
}

/* Numbers that are closed and taken again without the library's knowledge. */
static void close_behind(void)
{
	int fd = choose_regular(), other, result;
	struct place place;

	if (fd < 3 || is_of_stream(fd))
		return;
	switch (choose(4)) {
	case 0:
		log_result(raw_close(fd), "bare close(%d)", fd);
		break;
	case 1:
		other = (int)raw_call(SYS_memfd_create, (long)"other", 0, 0, 0, 0, 0);
		raw_call(SYS_pwrite64, other, (long)"quite another file", 18, 0, 0, 0);
		result = (int)raw_call(SYS_dup3, other, fd, 0, 0, 0, 0);
		raw_close(other);
		log_result(result, "bare dup3(memory, %d)", fd);
		break;
	case 2:
		choose_path(&place);
		if (strstr(place.path, "/fd/"))
			break;
		raw_close(fd);
		result = raw_openat(AT_FDCWD, place.path, O_RDONLY, 0);
		log_result(result, "bare close(%d), openat('%s')", fd, log_path(place.path));
		break;
	case 3:
		other = fd + (int)choose(5);
		result = (int)raw_call(SYS_close_range, fd, other, 0, 0, 0, 0);
		log_result(result, "bare close_range(%d, %d)", fd, other);
	}
}

static void limit_table(void)
{
	static rlim_t before;
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (before == 0)
		before = limit.rlim_cur;
	limit.rlim_cur = chance(50) ? before : 3 + choose(20);
	errno = 0;
	log_result(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit(RLIMIT_NOFILE, %lu)",
		   limit.rlim_cur == before ? 0 : (unsigned long)limit.rlim_cur);
}

static void lock(void)
{
	static const int operations[] = { LOCK_SH | LOCK_NB, LOCK_EX | LOCK_NB, LOCK_UN, 77 };
	static const int commands[] = { F_SETLK, F_GETLK, F_OFD_SETLK, F_OFD_GETLK };
	struct flock range = { .l_whence = SEEK_SET, .l_start = (off_t)choose(100), .l_len = (off_t)choose(100) };
	int fd = choose_regular(), operation = operations[choose(4)], command = commands[choose(4)], result;
	struct stat attributes;

	/* Locks of /dev/null would meet those of the other side. */
	if (fstat(fd, &attributes) == 0 && !S_ISREG(attributes.st_mode) && !S_ISDIR(attributes.st_mode))
		return;
	errno = 0;
	switch (choose(3)) {
	case 0:
		log_result(flock(fd, operation), "flock(%d, %d)", fd, operation);
		break;
	case 1:
		range.l_type = (short)choose(3);
		range.l_whence = (short)choose(3);
		result = fcntl(fd, command, &range);
		log_result(result, "fcntl(%d, %d, lock) type %d whence %d start %lld length %lld", fd, command,
			   range.l_type, range.l_whence, (long long)range.l_start, (long long)range.l_len);
		break;
	case 2:
		command = chance(50) ? F_TLOCK : chance(50) ? F_TEST : F_ULOCK;
		log_result(lockf(fd, command, 10), "lockf(%d, %d)", fd, command);
	}
}

const struct call calls_table[] = {
	{ "dup", 16, duplicate },
	{ "dupfd", 8, duplicate_above },
	{ "fcntl", 12, control },
	{ "close", 24, close_one },
	{ "close-range", 4, close_many },
	{ "close-behind", 6, close_behind },
	{ "limit", 3, limit_table },
	{ "lock", 5, lock },
	{ NULL, 0, NULL },
};
