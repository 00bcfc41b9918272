/* SPDX-License-Identifier: MIT */
/* Opening directories below the source. */
#include "source/place.h"

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
	return opened < 0 ? -errno : opened;
}

void places_open(struct places *places, int source_fd)
{
	*places = (struct places){ .source_fd = source_fd };
	pthread_mutex_init(&places->mutex, NULL);
}

void places_close(struct places *places)
{
	for (unsigned i = 0; i < PLACES_KEPT; i++)
		place_release(places->kept[i]);
	pthread_mutex_destroy(&places->mutex);
}

static void places_keep(struct places *places, struct place *place)
{
	struct place *gone;

	pthread_mutex_lock(&places->mutex);
	gone = places->kept[places->next];
	places->kept[places->next] = place_hold(place);
	places->next = (places->next + 1) % PLACES_KEPT;
	pthread_mutex_unlock(&places->mutex);
	place_release(gone);
}

/* Under the mutex. */
static struct place *places_find(struct places *places, const char *path, size_t length)
{
	for (unsigned i = 0; i < PLACES_KEPT; i++)
		if (places->kept[i] && places->kept[i]->length == length && !memcmp(places->kept[i]->path, path, length))
			return places->kept[i];
	return NULL;
}

/* The nearest directory above path, held, or NULL. */
static struct place *places_above(struct places *places, const char *path)
{
	const char *end = path + strlen(path);
	struct place *found = NULL;

	pthread_mutex_lock(&places->mutex);
	while (!found && (end = memrchr(path, '/', (size_t)(end - path))))
		found = places_find(places, path, (size_t)(end - path));
	if (found)
		place_hold(found);
	pthread_mutex_unlock(&places->mutex);
	return found;
}

/* Takes the descriptor, also without memory. */
static struct place *place_new(const char *path, size_t length, int fd)
{
	struct place *place = malloc(sizeof(*place) + length + 1);

	if (!place) {
		close(fd);
		return NULL;
	}
	atomic_init(&place->holders, 1);
	place->fd = fd;
	place->length = length;
	memcpy(place->path, path, length);
	place->path[length] = 0;
	return place;
}

/* One component at a time from a directory to the last one above path; *ret_name is what is left. The descriptor is the
 * directory's own when nothing lies between. */
static int place_walk(int from, const char *rest, const char **ret_name)
{
	auto_close int at = -1;
	char name[256];
	int next;

	for (const char *slash; (slash = strchr(rest, '/')); rest = slash + 1) {
		size_t length = (size_t)(slash - rest);

		if (length >= sizeof(name))
			return -ENAMETOOLONG;
		memcpy(name, rest, length);
		name[length] = 0;
		next = openat(at < 0 ? from : at, name, PLACE_STEP);
		if (next < 0)
			return -errno;
		close_fd(&at);
		at = next;
	}
	*ret_name = rest;
	return at < 0 ? from : take_fd(&at);
}

/* The place above path that is kept or is now; its descriptor, or an error. */
static int place_parent(struct places *places, const char *path, struct place **ret, const char **ret_name)
{
	struct place *above = places_above(places, path);
	int from = above ? above->fd : places->source_fd;
	int fd = place_walk(from, above ? path + above->length + 1 : path, ret_name);

	if (fd < 0 || fd == from) {
		*ret = above;
		return fd;
	}
	place_release(above);
	*ret = place_new(path, (size_t)(*ret_name - path) - 1, fd);
	if (!*ret)
		return -ENOMEM;
	places_keep(places, *ret);
	return fd;
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

int place_open(struct places *places, const char *path, struct place **ret, struct error *err)
{
	struct place *parent, *place;
	const char *name = path;
	int fd = place_parent(places, path, &parent, &name);

	if (fd >= 0)
		fd = place_open_last(fd, *name ? name : ".");
	place_release(parent);
	if (fd < 0)
		return place_failed(fd, *path ? path : ".", err);
	place = place_new(path, strlen(path), fd);
	if (!place)
		return error_set(err, -ENOMEM, "out of memory");
	places_keep(places, place);
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
