/* SPDX-License-Identifier: MIT */
/* Open directories of the source: each is shared by all who still work on its entries, and those that were opened last are
 * kept, as what lies below them comes next. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/error.h"

#define PLACES_KEPT 64u

struct place {
	atomic_uint holders;
	int fd;
	size_t length; /* of the path */
	char path[];   /* relative to the source; "" is the source itself */
};

struct places {
	int source_fd;
	pthread_mutex_t mutex; /* of what follows */
	struct place *kept[PLACES_KEPT];
	unsigned next; /* whose turn it is to go */
};

/* source_fd stays the caller's. */
void places_open(struct places *places, int source_fd);
void places_close(struct places *places);

/* Opens path step by step from the nearest directory that is kept, so it may be of any length, and never through a symlink. */
must_check int place_open(struct places *places, const char *path, struct place **ret, struct error *err);
struct place *place_hold(struct place *place);
void place_release(struct place *place);
/* "dir/name", for messages and filters. The caller frees it; NULL without memory. */
char *place_join(const char *directory, const char *name);
