/* SPDX-License-Identifier: MIT */
/* Opens directories below the source, and keeps the cache of them. */
#include "source/dirfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DIRFD_STEP (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define DIRFD_OPEN (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* Follows a symlink where a directory was expected, if that is wanted. code: of the open that did not follow it. */
static int dirfd_follow(const struct beneath *beneath, int at, const char *name, int flags, int code)
{
	if (!beneath || (code != -ENOTDIR && code != -ELOOP))
		return code;
	return beneath_follow_for(beneath, at, name, flags, NULL);
}

static int dirfd_step(const struct beneath *beneath, int at, const char *name)
{
	int opened = openat(at, name, DIRFD_STEP);

	return opened < 0 ? dirfd_follow(beneath, at, name, DIRFD_STEP, -errno) : opened;
}

static int dirfd_open_last(const struct beneath *beneath, int fd, const char *name)
{
	int opened = openat(fd, name, DIRFD_OPEN | O_NOATIME);

	if (opened < 0 && errno == EPERM) /* O_NOATIME is for owners */
		opened = openat(fd, name, DIRFD_OPEN);
	return opened < 0 ? dirfd_follow(beneath, fd, name, DIRFD_OPEN | O_NOATIME, -errno) : opened;
}

int dirfd_stat(const struct dirfd *dir, const char *name, struct attributes *ret, struct error *err)
{
	auto_close int fd = -1;
	int r = attributes_read(dir->fd, name, ret);

	if (r < 0)
		return error_set(err, r, "%s", strerror(-r));
	if (!dir->beneath || !S_ISLNK(ret->mode))
		return 0;
	fd = beneath_follow(dir->beneath, dir->fd, name, err);
	if (fd < 0)
		return fd;
	r = attributes_read(fd, "", ret);
	ret->is_followed = true;
	return r < 0 ? error_set(err, r, "%s", strerror(-r)) : 0;
}

int dirfd_open_entry(const struct dirfd *dir, const char *name, const struct attributes *attributes, int flags)
{
	int fd;

	if (attributes->is_followed)
		return beneath_follow_for(dir->beneath, dir->fd, name, flags | O_NOATIME, NULL);
	fd = openat(dir->fd, name, flags | O_NOFOLLOW | O_NOATIME);
	if (fd < 0 && errno == EPERM) /* O_NOATIME is for owners */
		fd = openat(dir->fd, name, flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

void dirfd_cache_open(struct dirfd_cache *cache, int source_fd, const struct beneath *beneath)
{
	*cache = (struct dirfd_cache){ .source_fd = source_fd, .beneath = beneath };
	pthread_mutex_init(&cache->mutex, NULL);
}

void dirfd_cache_close(struct dirfd_cache *cache)
{
	for (unsigned i = 0; i < DIRFD_CACHE_SIZE; i++)
		dirfd_release(cache->kept[i]);
	pthread_mutex_destroy(&cache->mutex);
}

static void dirfd_cache_keep(struct dirfd_cache *cache, struct dirfd *dir)
{
	struct dirfd *gone;

	pthread_mutex_lock(&cache->mutex);
	gone = cache->kept[cache->next];
	cache->kept[cache->next] = dirfd_hold(dir);
	cache->next = (cache->next + 1) % DIRFD_CACHE_SIZE;
	pthread_mutex_unlock(&cache->mutex);
	dirfd_release(gone);
}

/* Finds a directory in the cache. Call it with the mutex held. */
static struct dirfd *dirfd_cache_find(struct dirfd_cache *cache, const char *path, size_t length)
{
	for (unsigned i = 0; i < DIRFD_CACHE_SIZE; i++)
		if (cache->kept[i] && cache->kept[i]->length == length && !memcmp(cache->kept[i]->path, path, length))
			return cache->kept[i];
	return NULL;
}

/* Returns the nearest cached directory above path, held, or NULL. */
static struct dirfd *dirfd_cache_above(struct dirfd_cache *cache, const char *path)
{
	const char *end = path + strlen(path);
	struct dirfd *found = NULL;

	pthread_mutex_lock(&cache->mutex);
	while (!found && (end = memrchr(path, '/', (size_t)(end - path))))
		found = dirfd_cache_find(cache, path, (size_t)(end - path));
	if (found)
		dirfd_hold(found);
	pthread_mutex_unlock(&cache->mutex);
	return found;
}

/* Makes a dirfd. Takes ownership of the descriptor, even if it fails. */
static struct dirfd *dirfd_new(const struct beneath *beneath, const char *path, size_t length, int fd)
{
	struct dirfd *dir = malloc(sizeof(*dir) + length + 1);

	if (!dir) {
		close_fd(&fd);
		return NULL;
	}
	atomic_init(&dir->holders, 1);
	dir->fd = fd;
	dir->beneath = beneath;
	dir->length = length;
	memcpy(dir->path, path, length);
	dir->path[length] = 0;
	return dir;
}

struct dirfd *dirfd_name(const char *path)
{
	return dirfd_new(NULL, path, strlen(path), -1);
}

/* Walks from a directory, component by component, to the parent of rest; *ret_name is the last component. Returns the
 * parent's descriptor, which is from itself if rest has one component. */
static int dirfd_walk(const struct beneath *beneath, int from, const char *rest, const char **ret_name)
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
		next = dirfd_step(beneath, at < 0 ? from : at, name);
		if (next < 0)
			return next;
		close_fd(&at);
		at = next;
	}
	*ret_name = rest;
	return at < 0 ? from : take_fd(&at);
}

/* Finds the parent of path and adds it to the cache. Returns its descriptor or an error. */
static int dirfd_parent(struct dirfd_cache *cache, const char *path, struct dirfd **ret, const char **ret_name)
{
	struct dirfd *above = dirfd_cache_above(cache, path);
	int from = above ? above->fd : cache->source_fd;
	int fd = dirfd_walk(cache->beneath, from, above ? path + above->length + 1 : path, ret_name);

	if (fd < 0 || fd == from) {
		*ret = above;
		return fd;
	}
	dirfd_release(above);
	*ret = dirfd_new(cache->beneath, path, (size_t)(*ret_name - path) - 1, fd);
	if (!*ret)
		return -ENOMEM;
	dirfd_cache_keep(cache, *ret);
	return fd;
}

/* Sets the error of an open. When the scan saw the path, each component was a directory. */
static int dirfd_failed(int code, const char *path, struct error *err)
{
	if (code == -ENOENT)
		return error_set(err, code, "'%s' vanished while being packed", path);
	if (code == -ENOTDIR || code == -ELOOP || code == -EXDEV)
		return error_set(err, -ESTALE, "'%s': changed while being packed", path);
	return error_set(err, code, "cannot open directory '%s': %s", path, strerror(-code));
}

int dirfd_open(struct dirfd_cache *cache, const char *path, struct dirfd **ret, struct error *err)
{
	struct dirfd *parent, *dir;
	const char *name = path;
	int fd = dirfd_parent(cache, path, &parent, &name);

	if (fd >= 0)
		fd = dirfd_open_last(cache->beneath, fd, *name ? name : ".");
	dirfd_release(parent);
	if (fd < 0)
		return dirfd_failed(fd, *path ? path : ".", err);
	dir = dirfd_new(cache->beneath, path, strlen(path), fd);
	if (!dir)
		return error_no_memory(err);
	dirfd_cache_keep(cache, dir);
	*ret = dir;
	return 0;
}

struct dirfd *dirfd_hold(struct dirfd *dir)
{
	atomic_fetch_add_explicit(&dir->holders, 1, memory_order_relaxed);
	return dir;
}

void dirfd_release(struct dirfd *dir)
{
	if (!dir || atomic_fetch_sub_explicit(&dir->holders, 1, memory_order_acq_rel) != 1)
		return;
	close_fd(&dir->fd);
	free(dir);
}

char *dirfd_join(const char *directory, const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0)
		return NULL;
	return path;
}
