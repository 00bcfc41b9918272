/* SPDX-License-Identifier: MIT */
/* Open directories of the source: each is shared by all who still work on its entries, and those that were opened last are
 * kept, as what lies below them comes next. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

#define DIRFD_CACHE_SIZE 64u

struct dirfd {
	atomic_uint holders;
	int fd;
	size_t length; /* of the path */
	char path[];   /* relative to the source; "" is the source itself */
};

struct dirfd_cache {
	int source_fd;
	pthread_mutex_t mutex; /* of what follows */
	struct dirfd *kept[DIRFD_CACHE_SIZE];
	unsigned next; /* whose turn it is to go */
};

/* source_fd stays the caller's. */
void dirfd_cache_open(struct dirfd_cache *cache, int source_fd);
void dirfd_cache_close(struct dirfd_cache *cache);

/* Opens path step by step from the nearest directory that is kept, so it may be of any length, and never through a symlink. */
must_check int dirfd_open(struct dirfd_cache *cache, const char *path, struct dirfd **ret, struct error *err);
struct dirfd *dirfd_hold(struct dirfd *dir);
void dirfd_release(struct dirfd *dir);
/* "dir/name", for messages and filters. The caller frees it; NULL without memory. */
char *dirfd_join(const char *directory, const char *name);
