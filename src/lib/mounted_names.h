/* SPDX-License-Identifier: MIT */
/* Which path leads to an id: what was looked up, listed or swept of a version. It only grows. A directory that was
 * listed takes 4 bytes and the name for each entry, a path that was looked up about 80 bytes and the path. Calls take
 * forked_lock(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mounted_names;

/* Entries of a directory, in the order of their names, which all entries' names stand in one after the other. */
struct mounted_entry {
	uint64_t id;
	uint32_t at;
	uint8_t length, type; /* DT_DIR, DT_REG, DT_LNK */
};
struct mounted_batch {
	struct mounted_entry *entries;
	size_t count, room;
	char *names; /* each with a NUL */
	size_t used, names_room;
};

enum mounted_kind {
	MOUNTED_SOME = 1, /* a path, perhaps by symbolic links */
	MOUNTED_PLAIN,    /* without any */
	MOUNTED_FIRST,    /* that, and the first one */
};

must_check int mounted_names_new(uint64_t root, struct mounted_names **ret, struct error *err);
void mounted_names_free(struct mounted_names *names);

/* free() the path; that of the root is ".". -ENOENT: not known. */
must_check int mounted_names_path(struct mounted_names *names, uint64_t id, char **ret, enum mounted_kind *ret_kind,
				  struct error *err);
bool mounted_names_knows(struct mounted_names *names, uint64_t id);
/* What a lookup found. The path is without '.', empty components and a slash at either end. */
must_check int mounted_names_note(struct mounted_names *names, uint64_t id, const char *path, bool is_plain,
				  struct error *err);
/* Some entries of a directory whose path is known. */
must_check int mounted_names_add(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
				 struct error *err);

/* The sweep lists all directories in the order of their ids, and so learns which name of an inode is the first one.
 * The one that is next; -ENOENT: there is none. */
must_check int mounted_names_next(struct mounted_names *names, uint64_t *ret_directory, char **ret_path,
				  struct error *err);
/* All entries of that one. Nothing happens when another thread was faster. */
must_check int mounted_names_sweep(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
				   struct error *err);
/* It may not be listed. */
void mounted_names_skip(struct mounted_names *names, uint64_t directory);
/* Whether an id would be known by now, if it were in a directory that may be listed. */
bool mounted_names_swept(struct mounted_names *names, uint64_t id);
/* The first names in a directory; -ENOENT: the sweep has not come there, or could not list it. */
must_check int mounted_names_range(struct mounted_names *names, uint64_t directory, uint64_t *ret_first,
				   uint64_t *ret_count);
