/* SPDX-License-Identifier: MIT */
/* Calls of sequences that ask what a file is. */
#include "sequences.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Functions that programs linked before glibc 2.33 call. */
int __fxstat(int version, int fd, struct stat *ret);
int __fxstat64(int version, int fd, struct stat64 *ret);
int __xstat(int version, const char *path, struct stat *ret);
int __lxstat(int version, const char *path, struct stat *ret);
int __fxstatat(int version, int dirfd, const char *path, struct stat *ret, int flags);
int __fxstatat64(int version, int dirfd, const char *path, struct stat64 *ret, int flags);

static void stat_descriptor(void)
{
	static const char *const names[] = { "fstat",     "fstat64",    "__fxstat",  "__fxstat64",    "fstatat",
					     "fstatat64", "__fxstatat", "SYS_fstat", "SYS_newfstatat" };
	int fd = choose_regular(), result = -1;
	unsigned kind = (unsigned)choose(9);
	struct stat attributes;

	errno = 0;
	switch (kind) {
	case 0:
		result = fstat(fd, &attributes);
		break;
	case 1:
		result = fstat64(fd, (struct stat64 *)&attributes);
		break;
	case 2:
		result = __fxstat(1, fd, &attributes);
		break;
	case 3:
		result = __fxstat64(1, fd, (struct stat64 *)&attributes);
		break;
	case 4:
		result = fstatat(fd, "", &attributes, AT_EMPTY_PATH);
		break;
	case 5:
		result = fstatat64(fd, "", (struct stat64 *)&attributes, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
		break;
	case 6:
		result = __fxstatat(1, fd, "", &attributes, AT_EMPTY_PATH);
		break;
	case 7:
		result = (int)syscall(SYS_fstat, fd, &attributes);
		break;
	case 8:
		result = (int)syscall(SYS_newfstatat, fd, "", &attributes, AT_EMPTY_PATH);
	}
	log_attributes(result, &attributes, "%s(%d)", names[kind], fd);
}

/* A magic link has modes of its own: those of the descriptor, not of the file. */
static void log_path_attributes(int result, const struct stat *attributes, const char *what, const struct place *place)
{
	const char *path = log_path(place->path);

	if (result == 0 && S_ISLNK(attributes->st_mode) && attributes->st_dev != state.device)
		log_line("%s('%s') a link", what, path);
	else
		log_attributes(result, attributes, "%s(%d, '%s')", what, place->dirfd, path);
}

static void stat_path(void)
{
	static const char *const names[] = { "stat",     "lstat",   "stat64",    "lstat64",     "__xstat",
					     "__lxstat", "fstatat", "fstatat64", "__fxstatat64" };
	unsigned kind = (unsigned)choose(9);
	int flags = (chance(50) ? AT_SYMLINK_NOFOLLOW : 0) | (chance(20) ? AT_EMPTY_PATH : 0), result = -1;
	struct stat attributes;
	struct place place;

	if (kind < 6)
		choose_path(&place);
	else
		choose_path_at(&place);
	errno = 0;
	switch (kind) {
	case 0:
		result = stat(place.path, &attributes);
		break;
	case 1:
		result = lstat(place.path, &attributes);
		break;
	case 2:
		result = stat64(place.path, (struct stat64 *)&attributes);
		break;
	case 3:
		result = lstat64(place.path, (struct stat64 *)&attributes);
		break;
	case 4:
		result = __xstat(1, place.path, &attributes);
		break;
	case 5:
		result = __lxstat(1, place.path, &attributes);
		break;
	case 6:
		result = fstatat(place.dirfd, place.path, &attributes, flags);
		break;
	case 7:
		result = fstatat64(place.dirfd, place.path, (struct stat64 *)&attributes, flags);
		break;
	default:
		result = __fxstatat64(1, place.dirfd, place.path, (struct stat64 *)&attributes, flags);
	}
	log_path_attributes(result, &attributes, names[kind], &place);
}

static void log_statx(int result, const struct statx *x, const char *what, const struct place *place, unsigned mask)
{
	bool is_mount = result == 0 && makedev(x->stx_dev_major, x->stx_dev_minor) == state.device;

	log_result(result, "%s(%d, '%s', %#x)", what, place->dirfd, log_path(place->path), mask);
	if (is_mount && x->stx_mtime.tv_sec > TREE_TIME)
		log_line("  size=%llu", (unsigned long long)x->stx_size);
	else if (is_mount)
		log_line("  mask=%#x attributes=%llx/%llx ino=%llu mode=%o nlink=%u owner=%u:%u size=%llu block=%u "
			 "blocks=%llu "
			 "mtime=%lld.%u ctime=%lld.%u btime=%lld.%u",
			 x->stx_mask, (unsigned long long)x->stx_attributes, (unsigned long long)x->stx_attributes_mask,
			 (unsigned long long)x->stx_ino, x->stx_mode, x->stx_nlink, x->stx_uid, x->stx_gid,
			 (unsigned long long)x->stx_size, x->stx_blksize, (unsigned long long)x->stx_blocks,
			 (long long)x->stx_mtime.tv_sec, x->stx_mtime.tv_nsec, (long long)x->stx_ctime.tv_sec,
			 x->stx_ctime.tv_nsec, (long long)x->stx_btime.tv_sec, x->stx_btime.tv_nsec);
	else if (result == 0)
		log_line("  mask=%#x mode=%o", x->stx_mask, S_ISLNK(x->stx_mode) ? 0u : x->stx_mode);
}

static void stat_extended(void)
{
	static const unsigned masks[] = {
		STATX_BASIC_STATS, STATX_ALL, 0, STATX_SIZE, STATX_MODE | STATX_TYPE, 1u << 31
	};
	static const int more_flags[] = { 0, AT_SYMLINK_NOFOLLOW, AT_STATX_DONT_SYNC, AT_NO_AUTOMOUNT, 0x20000 };
	unsigned mask = masks[choose(6)];
	int flags = more_flags[choose(5)], result;
	struct place place = { .path = "" };
	struct statx attributes = { .stx_mask = 0 };

	if (chance(60)) {
		place.dirfd = choose_regular();
		flags |= AT_EMPTY_PATH;
	} else {
		choose_path_at(&place);
	}
	errno = 0;
	if (chance(50)) {
		result = statx(place.dirfd, place.path, flags, mask, &attributes);
		log_statx(result, &attributes, "statx", &place, mask);
	} else {
		result = (int)syscall(SYS_statx, place.dirfd, place.path, flags, mask, &attributes);
		log_statx(result, &attributes, "SYS_statx", &place, mask);
	}
}

static void ask_access(void)
{
	int modes = (int)choose(8), flags = chance(40) ? AT_EACCESS : 0;
	struct place place;

	choose_path_at(&place);
	errno = 0;
	switch (choose(4)) {
	case 0:
		log_result(access(place.path, modes), "access('%s', %d)", log_path(place.path), modes);
		break;
	case 1:
		log_result(euidaccess(place.path, modes), "euidaccess('%s', %d)", log_path(place.path), modes);
		break;
	case 2:
		log_result(faccessat(place.dirfd, place.path, modes, flags), "faccessat(%d, '%s', %d, %#x)",
			   place.dirfd, log_path(place.path), modes, flags);
		break;
	case 3:
		place.dirfd = choose_regular();
		log_result(faccessat(place.dirfd, "", modes, AT_EMPTY_PATH), "faccessat(%d, '', %d)", place.dirfd,
			   modes);
	}
}

/* Whether the kernel still has a name in .datasetfs depends on when it was asked for last, as the library does. */
static ssize_t without_deleted(const char *target, ssize_t length)
{
	static const char deleted[] = " (deleted)";
	ssize_t rest = length - (ssize_t)strlen(deleted);

	if (rest > 0 && memmem(target, (size_t)rest, "/.datasetfs/", 12) &&
	    memcmp(target + rest, deleted, strlen(deleted)) == 0)
		return rest;
	return length;
}

static void read_link(void)
{
	char target[PATH_MAX + 1], *resolved;
	struct place place;
	ssize_t result;

	choose_path_at(&place);
	if (chance(50))
		snprintf(place.path, sizeof(place.path), "/proc/self/fd/%d", choose_regular());
	errno = 0;
	if (chance(30)) {
		resolved = realpath(place.path, target);
		log_result(resolved ? 0 : -1, "realpath('%s') '%s'", log_path(place.path), log_path(resolved));
		return;
	}
	result = readlinkat(place.dirfd, place.path, target, PATH_MAX);
	if (result > 0 && result <= PATH_MAX)
		result = without_deleted(target, result);
	target[result > 0 ? result : 0] = 0;
	/* The two sides' names are not of one length. */
	log_result(result < 0 ? -1 : 0, "readlinkat(%d, '%s') '%s'", place.dirfd, log_path(place.path),
		   log_path(target));
}

static void stat_filesystem(void)
{
	int fd = choose_regular(), result;
	struct statvfs vfs = { .f_bsize = 0 };
	struct statfs fs = { .f_type = 0 };

	errno = 0;
	if (chance(50)) {
		result = fstatfs(fd, &fs);
		if (result != 0 || fs.f_type != 0x65735546)
			log_result(result, "fstatfs(%d)", fd);
		else
			log_result(result, "fstatfs(%d) block=%ld blocks=%lu files=%lu name=%ld flags=%lx", fd,
				   (long)fs.f_bsize, (unsigned long)fs.f_blocks, (unsigned long)fs.f_files,
				   (long)fs.f_namelen, (long)fs.f_flags);
	} else {
		result = fstatvfs(fd, &vfs);
		log_result(result, "fstatvfs(%d) block=%lu name=%lu", fd, vfs.f_bsize, vfs.f_namemax);
	}
}

static void ask_extended(void)
{
	int fd = choose_regular();
	char text[256];

	errno = 0;
	switch (choose(4)) {
	case 0:
		log_bytes(flistxattr(fd, text, sizeof(text)), text, "flistxattr(%d)", fd);
		break;
	case 1:
		log_bytes(fgetxattr(fd, "user.test", text, sizeof(text)), text, "fgetxattr(%d)", fd);
		break;
	case 2:
		if (may_change(fd))
			log_result(fsetxattr(fd, "user.test", "x", 1, 0), "fsetxattr(%d)", fd);
		break;
	case 3:
		if (may_change(fd))
			log_result(fremovexattr(fd, "user.test"), "fremovexattr(%d)", fd);
	}
}

const struct call calls_stat[] = {
	{ "fstat", 20, stat_descriptor }, { "stat", 12, stat_path },
	{ "statx", 12, stat_extended },   { "access", 4, ask_access },
	{ "readlink", 6, read_link },     { "statfs", 3, stat_filesystem },
	{ "xattr", 3, ask_extended },     { NULL, 0, NULL },
};
