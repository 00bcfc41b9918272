/* SPDX-License-Identifier: MIT */
/* Opens directories and entries of the source. Threads that work on entries of the same directory share it, and a cache
 * keeps the last directories open, because their subdirectories come next. Symlinks are followed only as
 * --dereference says. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "source/attributes.h"
#include "source/beneath.h"

#define DIRFD_CACHE_SIZE 64u

struct dirfd {
	atomic_uint holders;
	int fd;
	const struct beneath *beneath; /* of the cache */
	size_t length; /* of the path */
	char path[];   /* relative to the source; "" is the source itself */
};

struct dirfd_cache {
	int source_fd;
	const struct beneath *beneath; /* where symlinks may lead; NULL: none is followed */
	pthread_mutex_t mutex; /* guards the fields below */
	struct dirfd *kept[DIRFD_CACHE_SIZE];
	unsigned next; /* the next to be replaced */
};

/* Makes an empty cache. The caller keeps source_fd and beneath. */
void dirfd_cache_open(struct dirfd_cache *cache, int source_fd, const struct beneath *beneath);
void dirfd_cache_close(struct dirfd_cache *cache);

/* Makes a directory that exists only in an archive: a path without a descriptor. NULL: out of memory. */
struct dirfd *dirfd_name(const char *path);
/* Opens path from the nearest cached directory, component by component: it may have any length. */
must_check int dirfd_open(struct dirfd_cache *cache, const char *path, struct dirfd **ret, struct error *err);
/* Reads the attributes of an entry, or of what it leads to if it is a symlink that is followed. If that fails, the
 * reason does not name the entry. */
must_check int dirfd_stat(const struct dirfd *dir, const char *name, struct attributes *ret, struct error *err);
/* Opens an entry with flags of open(2). attributes: as dirfd_stat() gave them. Returns a descriptor or -errno. */
must_check int dirfd_open_entry(const struct dirfd *dir, const char *name, const struct attributes *attributes,
				int flags);
struct dirfd *dirfd_hold(struct dirfd *dir);
void dirfd_release(struct dirfd *dir);
/* Returns "directory/name", for messages and filters. The caller frees it; NULL: out of memory. */
char *dirfd_join(const char *directory, const char *name);
