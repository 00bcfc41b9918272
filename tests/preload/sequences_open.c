/* SPDX-License-Identifier: MIT */
/* Calls of sequences that open files and walk to them. */
#include "sequences.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dirfd, const char *path, int flags);
int __openat64_2(int dirfd, const char *path, int flags);

#define CREATING (O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY))

/* Mostly what a reader asks for. */
static int any_flags(const struct place *place)
{
	static const int more[] = { O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK, O_PATH,   O_WRONLY, O_RDWR,
				    O_CREAT,    O_EXCL,      O_TRUNC,    O_APPEND, O_DIRECT, O_NOATIME,
				    O_NOCTTY,   O_ASYNC,     O_TMPFILE,  3,        1 << 30 };
	int flags = chance(30) ? O_CLOEXEC : 0;

	while (chance(18))
		flags |= more[choose(sizeof(more) / sizeof(more[0]))];
	if (chance(10))
		flags |= O_NOFOLLOW;
	return (flags & CREATING) && !may_create(place) ? flags & ~CREATING : flags;
}

static void open_plain(void)
{
	static const char *const names[] = { "open",  "open64",  "__open_2",  "__open64_2",
					     "creat", "creat64", "SYS_openat" };
	unsigned kind = (unsigned)choose(7);
	struct place place;
	int flags, fd = -1;

	choose_path(&place);
	flags = any_flags(&place);
	if (kind == 2 || kind == 3) /* they abort the program where a mode is missing */
		flags &= ~(CREATING | O_TMPFILE);
	if (kind == 4 || kind == 5)
		kind = may_create(&place) && chance(30) ? kind : kind - 4;
	switch (kind) {
	case 0:
		fd = open(place.path, flags, 0640);
		break;
	case 1:
		fd = open64(place.path, flags, 0640);
		break;
	case 2:
		fd = __open_2(place.path, flags);
		break;
	case 3:
		fd = __open64_2(place.path, flags);
		break;
	case 4:
		fd = creat(place.path, 0640);
		break;
	case 5:
		fd = creat64(place.path, 0640);
		break;
	case 6:
		fd = (int)syscall(SYS_openat, AT_FDCWD, place.path, flags, 0640);
	}
	log_result(fd, "%s('%s', %#x)", names[kind], log_path(place.path), flags);
}

static void open_at(void)
{
	static const char *const names[] = { "openat",       "openat64",   "__openat_2",
					     "__openat64_2", "SYS_openat", "SYS_openat2" };
	unsigned kind = (unsigned)choose(6);
	struct open_how how = { .resolve = 0 };
	struct place place;
	int flags, fd = -1;

	choose_path_at(&place);
	flags = any_flags(&place);
	if (kind == 2 || kind == 3)
		flags &= ~(CREATING | O_TMPFILE);
	switch (kind) {
	case 0:
		fd = openat(place.dirfd, place.path, flags, 0640);
		break;
	case 1:
		fd = openat64(place.dirfd, place.path, flags, 0640);
		break;
	case 2:
		fd = __openat_2(place.dirfd, place.path, flags);
		break;
	case 3:
		fd = __openat64_2(place.dirfd, place.path, flags);
		break;
	case 4:
		fd = (int)syscall(SYS_openat, place.dirfd, place.path, flags, 0640);
		break;
	case 5:
		how.flags = (unsigned)flags;
		how.mode = flags & CREATING ? 0640 : 0;
		/* The result must not depend on the kernel's cache, so without RESOLVE_CACHED; nor on renames beside
		 * us, so EAGAIN is tried again. */
		how.resolve = chance(50) ? choose(64) & ~(uint64_t)RESOLVE_CACHED : 0;
		do {
			errno = 0;
			fd = (int)syscall(SYS_openat2, place.dirfd, place.path, &how, sizeof(how));
		} while (fd < 0 && errno == EAGAIN);
	}
	log_result(fd, "%s(%d, '%s', %#x) resolve=%#x", names[kind], place.dirfd, log_path(place.path), flags,
		   (unsigned)how.resolve);
}

/* The open that most programs make, and that most of a sequence should be about. */
static void open_reading(void)
{
	const char *name = state.pool[choose(POOL)];
	char path[4300];
	int fd;

	snprintf(path, sizeof(path), "%s/mnt/%s", state.top, name);
	fd = open(path, O_RDONLY | (chance(50) ? O_CLOEXEC : 0));
	log_result(fd, "open('%s')", log_path(path));
}

static void open_directory(void)
{
	static const char *const names[] = { "", "dir", "dir/sub", "to-dir", "../outside", "dir/empty" };
	const char *name = names[choose(sizeof(names) / sizeof(names[0]))];
	char path[4300];
	int fd;

	snprintf(path, sizeof(path), "%s/mnt/%s", state.top, name);
	fd = open(path, O_RDONLY | O_DIRECTORY | (chance(20) ? O_PATH : 0));
	log_result(fd, "open('%s', O_DIRECTORY)", log_path(path));
}

/* A number that is taken without the library's knowledge. */
static void open_behind(void)
{
	int pair[2] = { -1, -1 };
	struct place place;
	int fd;

	switch (choose(3)) {
	case 0:
		choose_path(&place);
		if (strstr(place.path, "/fd/")) /* a placeholder cannot be opened again: ELOOP */
			break;
		fd = raw_openat(AT_FDCWD, place.path, O_RDONLY, 0);
		log_result(fd, "bare openat('%s')", log_path(place.path));
		break;
	case 1:
		fd = (int)raw_call(SYS_pipe2, (long)pair, O_NONBLOCK, 0, 0, 0, 0);
		log_result(fd, "bare pipe2() %d %d", pair[0], pair[1]);
		break;
	case 2:
		fd = (int)raw_call(SYS_memfd_create, (long)"text", 0, 0, 0, 0, 0);
		raw_call(SYS_pwrite64, fd, (long)"what is in memory", 17, 0, 0, 0);
		log_result(fd, "bare memfd_create()");
	}
}

static void open_other(void)
{
	int pair[2] = { -1, -1 }, fd;

	switch (choose(3)) {
	case 0:
		fd = pipe2(pair, O_NONBLOCK | O_CLOEXEC);
		log_result(fd, "pipe2() %d %d", pair[0], pair[1]);
		break;
	case 1:
		fd = memfd_create("text", 0);
		raw_call(SYS_pwrite64, fd, (long)"words in memory", 15, 0, 0, 0);
		log_result(fd, "memfd_create()");
		break;
	case 2:
		fd = open("/dev/null", O_RDWR);
		log_result(fd, "open('/dev/null')");
	}
}

/* Every folder stays below the top: nothing is made elsewhere, see may_create(). */
static void change_directory(void)
{
	static const char *const names[] = { "mnt",     "mnt/dir",   "mnt/dir/sub", "mnt/to-dir",
					     "outside", "mnt/small", "mnt/missing", "outside/into-dir" };
	char path[4300];
	struct stat attributes;
	int fd, result;

	if (chance(50)) {
		snprintf(path, sizeof(path), "%s/%s", state.top, chance(40) ? "mnt" : names[choose(8)]);
		result = chdir(path);
		log_result(result, "chdir('%s')", log_path(path));
	} else {
		fd = choose_descriptor();
		if (fstat(fd, &attributes) == 0 && S_ISDIR(attributes.st_mode) && attributes.st_dev != state.device)
			return;
		result = fchdir(fd);
		log_result(result, "fchdir(%d)", fd);
	}
	result = getcwd(path, sizeof(path)) ? 0 : -1;
	log_result(result, "getcwd() '%s'", log_path(path));
}

static void list_stream(DIR *listing, const char *what)
{
	uint64_t hash = 0, count = 0;
	struct dirent *entry;
	int fd = dirfd(listing);

	for (unsigned pass = 0; pass < 1 + choose(2); pass++, rewinddir(listing))
		while ((entry = readdir(listing))) {
			hash = log_hash(hash + entry->d_type, entry->d_name, strlen(entry->d_name));
			count++;
		}
	log_result((int64_t)count, "%s: dirfd %d, names #%08x", what, fd, (unsigned)hash);
	log_result(closedir(listing), "closedir");
}

static void list_directory(void)
{
	int fd = choose_descriptor();
	struct place place;
	DIR *listing;

	choose_path(&place);
	if (chance(50)) {
		listing = opendir(place.path);
		log_result(listing ? 0 : -1, "opendir('%s')", log_path(place.path));
	} else {
		fd = fd < 3 ? -1 : fd;
		listing = fdopendir(fd);
		log_result(listing ? 0 : -1, "fdopendir(%d)", fd);
	}
	if (listing)
		list_stream(listing, "readdir");
}

const struct call calls_open[] = {
	{ "reading", 40, open_reading },    { "open", 30, open_plain },    { "openat", 20, open_at },
	{ "directory", 8, open_directory }, { "behind", 6, open_behind },  { "other", 8, open_other },
	{ "chdir", 5, change_directory },   { "list", 3, list_directory }, { NULL, 0, NULL },
};
