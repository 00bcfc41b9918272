/* SPDX-License-Identifier: MIT */
/* A place is locked by a byte of one file, so that nothing is left of a lock. */
#include "base/program/runtime.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc.h"
#include "base/grow.h"

#define RUNTIME_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define RUNTIME_PLACES RUNTIME_FOLDER "/places"

/* ---- folders ---- */

int runtime_make(int at, const char *name, mode_t mode, struct error *err)
{
	mode_t mask = umask(0);
	int r = mkdirat(at, name, mode);

	umask(mask);
	return r < 0 && errno != EEXIST ? error_errno(err, "cannot make the folder '%s'", name) : 0;
}

static int runtime_check(int fd, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "'%s'", path);
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, -EPERM, "'%s' belongs to user %u and has mode %03o, expected user %u and no "
				 "write access for others", path, (unsigned)st.st_uid, st.st_mode & 07777,
				 (unsigned)geteuid());
	return 0;
}

int runtime_open(const char *name, int *ret, struct error *err)
{
	char path[sizeof(RUNTIME_FOLDER) + NAME_MAX + 1];
	auto_close int fd = -1;
	int r = runtime_make(AT_FDCWD, RUNTIME_FOLDER, 0755, err); /* base/program/rendezvous.c makes it as well */

	snprintf(path, sizeof(path), RUNTIME_FOLDER "/%s", name);
	if (r == 0)
		r = runtime_make(AT_FDCWD, path, 0700, err);
	if (r < 0)
		return r;
	fd = open(path, RUNTIME_FLAGS);
	if (fd < 0)
		return error_errno(err, "cannot open '%s'", path);
	r = runtime_check(fd, path, err);
	if (r == 0)
		*ret = take_fd(&fd);
	return r;
}

/* ---- what is in a folder ---- */

struct runtime_names {
	char **items;
	size_t count;
};

static void runtime_free_names(struct runtime_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static int runtime_list(int folder, struct runtime_names *ret, struct error *err)
{
	int fd = openat(folder, ".", RUNTIME_FLAGS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		close_fd(&fd);
		return error_errno(err, "cannot list a folder in '" RUNTIME_FOLDER "'");
	}
	while (r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = grow_one(ret->items, ret->count, err);
		if (r == 0 && !(ret->items[ret->count] = strdup(entry->d_name)))
			r = error_no_memory(err);
		if (r == 0)
			ret->count++;
	}
	closedir(dir);
	return r;
}

int runtime_each(int folder, runtime_visit visit, void *argument, struct error *err)
{
	cleanup(runtime_free_names) struct runtime_names names = { 0 };
	int r = runtime_list(folder, &names, err);

	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = visit(argument, names.items[i], err);
	return r;
}

/* ---- places ---- */

int runtime_open_places(int *ret, struct error *err)
{
	auto_close int fd = open(RUNTIME_PLACES, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, "cannot open '" RUNTIME_PLACES "'");
	*ret = take_fd(&fd);
	return 0;
}

/* Which byte: the directory, and the name in it. Two places that share a byte wait for each other. */
static off_t runtime_place(const struct statx *directory, const char *name)
{
	struct runtime_identity {
		uint64_t inode;
		uint32_t major, minor;
		char name[NAME_MAX + 1];
	} identity = { .inode = directory->stx_ino, .major = directory->stx_dev_major,
		       .minor = directory->stx_dev_minor };

	snprintf(identity.name, sizeof(identity.name), "%s", name);
	return crc_sum(CRC_32C, (const uint8_t *)&identity,
		       offsetof(struct runtime_identity, name) + strlen(identity.name));
}

int runtime_lock_place(int places, int directory, const char *name, const char *path, struct error *err)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct statx found;

	/* DONT_SYNC: the kernel knows it, whatever the filesystem does. */
	if (statx(directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &found) < 0)
		return error_errno(err, "cannot look at the directory of '%s'", path);
	lock.l_start = runtime_place(&found, name);
	while (fcntl(places, F_OFD_SETLKW, &lock) < 0)
		if (errno != EINTR)
			return error_errno(err, "cannot lock '%s'", path);
	return 0;
}
