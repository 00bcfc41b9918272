/* SPDX-License-Identifier: MIT */
/* A folder that was removed while a process waited for its lock locks nothing, so the waiter checks that the name still
 * leads to the folder that it has locked. */
#include "attach/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "io/site.h"

#define STATE_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int state_mkdir(int at, const char *name, mode_t mode, struct error *err)
{
	mode_t mask = umask(0);
	int r = mkdirat(at, name, mode);

	umask(mask);
	return r < 0 && errno != EEXIST ? error_errno(err, "cannot make the folder '%s'", name) : 0;
}

int state_make(int at, const char *name, struct error *err)
{
	return state_mkdir(at, name, 0711, err);
}

static int state_check(int fd, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, "'" STATE_FOLDER "'");
	if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, -EPERM, "'" STATE_FOLDER "' belongs to user %u and has mode %03o, expected user "
				 "%u and that nobody else may write there", (unsigned)st.st_uid, st.st_mode & 07777,
				 (unsigned)geteuid());
	return 0;
}

int state_open(int *ret, struct error *err)
{
	auto_close int fd = -1;
	int r = state_mkdir(AT_FDCWD, "/run/datasetfs", 0755, err); /* base/program/rendezvous.c makes it as well */

	if (r == 0)
		r = state_mkdir(AT_FDCWD, STATE_FOLDER, 0700, err);
	if (r < 0)
		return r;
	fd = open(STATE_FOLDER, STATE_FLAGS);
	if (fd < 0)
		return error_errno(err, "cannot open '" STATE_FOLDER "'");
	r = state_check(fd, err);
	if (r == 0)
		*ret = take_fd(&fd);
	return r;
}

int state_open_places(int *ret, struct error *err)
{
	auto_close int fd = open(STATE_PLACES, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_errno(err, "cannot open '" STATE_PLACES "'");
	*ret = take_fd(&fd);
	return 0;
}

/* ---- locks ---- */

static int state_flock(int fd, bool wait, struct error *err)
{
	if (flock(fd, LOCK_EX | (wait ? 0 : LOCK_NB)) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return error_set(err, -EAGAIN, "another process is at work there");
	return error_errno(err, "cannot lock a folder in '" STATE_FOLDER "'");
}

int state_lock(int state, const char *key, bool wait, int *ret, struct error *err)
{
	int r;

	for (;;) {
		auto_close int fd = -1;

		r = state_make(state, key, err);
		if (r < 0)
			return r;
		fd = openat(state, key, STATE_FLAGS);
		if (fd < 0 && errno == ENOENT) /* removed again by another process */
			continue;
		if (fd < 0)
			return error_errno(err, "cannot open '" STATE_FOLDER "/%s'", key);
		r = state_flock(fd, wait, err);
		if (r < 0)
			return r;
		if (site_has(state, key, fd)) {
			*ret = take_fd(&fd);
			return 0;
		}
	}
}

void state_drop(int state, const char *key)
{
	unlinkat(state, key, AT_REMOVEDIR);
}

/* ---- what is in a folder ---- */

struct state_names {
	char **items;
	size_t count;
};

static void state_free_names(struct state_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

static int state_list(int folder, struct state_names *ret, struct error *err)
{
	int fd = openat(folder, ".", STATE_FLAGS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		close_fd(&fd);
		return error_errno(err, "cannot list a folder in '" STATE_FOLDER "'");
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

int state_each(int folder, state_visit *visit, void *argument, struct error *err)
{
	cleanup(state_free_names) struct state_names names = { 0 };
	int r = state_list(folder, &names, err);

	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = visit(argument, names.items[i], err);
	return r;
}
