/* SPDX-License-Identifier: MIT */
/* Finds the path of an id, and opens it. An id that was never looked up or listed is found by a sweep through the
 * directories, which continues where the last one ended. */
#pragma once
#include "lib/mounted/mounted_names.h"
#include "lib/mounted/mounted_version.h"

/* Returns a path of at least this kind, or the best known one if the sweep finds none. The caller frees it with free().
 * -EACCES: the inode is in a directory that the caller may not list. */
must_check int mounted_node_path(struct mounted_version *mounted, uint64_t id, enum mounted_kind least, char **ret,
				 enum mounted_kind *ret_kind, struct error *err);
/* Finds the path of an id in advance, so that opening it takes no sweep. A failure is reported later, when the id is
 * opened. */
void mounted_node_find(struct mounted_version *mounted, uint64_t id, struct error *ignored);
/* Opens the inode with flags of open(2); returns the descriptor, and its attributes in *ret_st. */
must_check int mounted_node_open(struct mounted_version *mounted, uint64_t id, int flags, struct stat *ret_st,
				 struct error *err);
/* Whether no other directory has a name of the inode: it is a directory, or has one link. */
must_check int mounted_node_has_one_name(struct mounted_version *mounted, uint64_t id, bool *ret, struct error *err);
/* Sweeps until this directory is listed, and returns its range of ids as mounted_names_range() does. */
must_check int mounted_node_sweep(struct mounted_version *mounted, uint64_t directory, uint64_t *ret_first,
				  uint64_t *ret_count, struct error *err);
