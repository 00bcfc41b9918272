/* SPDX-License-Identifier: MIT */
/* Opening directories below the source. */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PLACE_STEP (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PLACE_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static int place_open_last(int fd, const char *name)
{
	int opened = openat(fd, name, PLACE_OPEN | O_NOATIME);

	if (opened < 0 && errno == EPERM) /* O_NOATIME is for owners */
		opened = openat(fd, name, PLACE_OPEN);
	return opened;
}

/* Walks to path one component at a time. */
static int place_walk(int source_fd, const char *path)
{
	auto_close int at = -1;
	char name[256];
	int next;

	for (const char *rest = path; *rest;) {
		size_t length = strcspn(rest, "/");
		bool last = !rest[length];

		if (length >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, rest, length);
		name[length] = 0;
		next = last ? place_open_last(at < 0 ? source_fd : at, name) :
			      openat(at < 0 ? source_fd : at, name, PLACE_STEP);
		if (next < 0)
			return -errno;
		close_fd(&at);
		at = next;
		rest += length + !last;
	}
	if (at < 0)
		at = place_open_last(source_fd, ".");
	return at < 0 ? -errno : take_fd(&at);
}

/* The scan saw directories all the way. */
static int place_failed(int code, const char *path, struct error *err)
{
	if (code == -ENOENT)
		return error_set(err, code, "'%s' vanished while being packed", path);
	if (code == -ENOTDIR || code == -ELOOP)
		return error_set(err, -ESTALE, "'%s': changed while being packed", path);
	return error_set(err, code, "cannot open directory '%s': %s", path, strerror(-code));
}

int place_open(int source_fd, const char *path, struct place **ret, struct error *err)
{
	size_t length = strlen(path);
	struct place *place = malloc(sizeof(*place) + length + 1);
	int fd;

	if (!place)
		return error_set(err, -ENOMEM, "out of memory");
	fd = place_walk(source_fd, path);
	if (fd < 0) {
		free(place);
		return place_failed(fd, *path ? path : ".", err);
	}
	atomic_init(&place->holders, 1);
	place->fd = fd;
	memcpy(place->path, path, length + 1);
	*ret = place;
	return 0;
}

struct place *place_hold(struct place *place)
{
	atomic_fetch_add_explicit(&place->holders, 1, memory_order_relaxed);
	return place;
}

void place_release(struct place *place)
{
	if (!place || atomic_fetch_sub_explicit(&place->holders, 1, memory_order_acq_rel) != 1)
		return;
	close(place->fd);
	free(place);
}

char *place_join(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0)
		return NULL;
	return path;
}
