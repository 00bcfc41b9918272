/* SPDX-License-Identifier: MIT */
/* Descriptors under names, in the order in which the names came first. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "supervisor/message.h"

#define FDSTORE_MAX 2048u /* descriptors: 1024 workers, 256 members, two for each of 256 versions, and some more */

struct fdstore_entry {
	char name[SUPERVISOR_NAME];
	int fd;
};

/* Zero is an empty one. */
struct fdstore {
	struct fdstore_entry *items;
	size_t count, room;
};

/* Takes fd, which is closed on failure too, and closes the one that had this name. -ENOSPC: there are FDSTORE_MAX. */
must_check int fdstore_put(struct fdstore *store, const char *name, int fd, struct error *err);
bool fdstore_has(const struct fdstore *store, const char *name);
int fdstore_look(const struct fdstore *store, const char *name); /* the descriptor, which stays; -1: there is none */
/* Removes a descriptor, which is now the caller's. -1: there is none of this name. */
int fdstore_take(struct fdstore *store, const char *name);
/* Fills an empty store with descriptors of the same files. */
must_check int fdstore_copy(const struct fdstore *store, struct fdstore *ret, struct error *err);
/* Closes all descriptors but the one of this name (NULL: all), and frees what they needed. */
void fdstore_clear(struct fdstore *store, const char *but);
