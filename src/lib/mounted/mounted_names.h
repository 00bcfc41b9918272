/* SPDX-License-Identifier: MIT */
/* Owns the known paths of a version: which path leads to an id that was looked up, listed or swept. It only grows. A
 * listed directory takes 4 bytes and the name for each entry, a looked-up path about 80 bytes and the path. Calls take
 * forked_lock(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct mounted_names;

/* An entry of a directory, in the order of names. `at` is the offset of its name in the batch's names. */
struct mounted_entry {
	uint64_t id;
	uint32_t at;
	uint8_t length, type; /* DT_DIR, DT_REG, DT_LNK */
};
struct mounted_batch {
	struct mounted_entry *entries;
	size_t count, room;
	char *names; /* each name with its NUL */
	size_t used, names_room;
};

enum mounted_kind {
	MOUNTED_SOME = 1, /* a path, perhaps through symbolic links */
	MOUNTED_PLAIN,    /* a path without symbolic links */
	MOUNTED_FIRST,    /* a plain path that is the first name of the inode */
};

/* root: the directory to which paths are relative. has_gaps: it is not the version's root, so that it has only some of
 * the ids. */
must_check int mounted_names_new(uint64_t root, bool has_gaps, struct mounted_names **ret, struct error *err);
void mounted_names_free(struct mounted_names *names);

/* Returns the best known path of an id, to be freed with free(); that of the root is ".". -ENOENT: none is known. */
must_check int mounted_names_path(struct mounted_names *names, uint64_t id, char **ret, enum mounted_kind *ret_kind,
				  struct error *err);
bool mounted_names_knows(struct mounted_names *names, uint64_t id);
/* Notes the path by which a lookup found id. The path has no '.', no empty components and no slash at either end. */
must_check int mounted_names_note(struct mounted_names *names, uint64_t id, const char *path, bool is_plain,
				  struct error *err);
/* Adds some entries of a directory whose path is known. */
must_check int mounted_names_add(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
				 struct error *err);

/* Returns the next directory of the sweep, and its path, to be freed with free(). The sweep lists all directories in
 * the order of their ids, and so learns which name of an inode is the first one. -ENOENT: the sweep is over. */
must_check int mounted_names_next(struct mounted_names *names, uint64_t *ret_directory, char **ret_path,
				  struct error *err);
/* Enters all entries of the sweep's next directory, and moves on. Does nothing if another thread has done so
 * already. */
must_check int mounted_names_sweep(struct mounted_names *names, uint64_t directory, const struct mounted_batch *batch,
				   struct error *err);
/* Passes over the sweep's next directory, as the caller may not list it. */
void mounted_names_skip(struct mounted_names *names, uint64_t directory);
/* Whether the sweep has gone far enough to know this id, unless it is in a directory that may not be listed. */
bool mounted_names_swept(struct mounted_names *names, uint64_t id);
/* Returns the range of ids that have their first name in the directory. -ENOENT: the sweep has not reached it yet, or
 * could not list it. */
must_check int mounted_names_range(struct mounted_names *names, uint64_t directory, uint64_t *ret_first,
				   uint64_t *ret_count);
