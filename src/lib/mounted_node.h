/* SPDX-License-Identifier: MIT */
/* From an id to a path and a descriptor. An id that was never looked up or listed is found by a sweep through the
 * directories, which goes on where the last one ended. */
#pragma once
#include "lib/mounted_names.h"
#include "lib/mounted_version.h"

/* free() the path. -EACCES: the inode is in a directory that the caller may not list. */
must_check int mounted_node_path(struct mounted *mounted, uint64_t id, enum mounted_kind least, char **ret,
				 enum mounted_kind *ret_kind, struct error *err);
/* So that opening it takes no sweep. What is wrong with it is told when it is opened. */
void mounted_node_find(struct mounted *mounted, uint64_t id, struct error *ignored);
/* Returns a descriptor, opened with flags of open(2), and its attributes. */
must_check int mounted_node_open(struct mounted *mounted, uint64_t id, int flags, struct stat *ret_st,
				 struct error *err);
/* Whether no other directory has a name of it. */
must_check int mounted_node_has_one_name(struct mounted *mounted, uint64_t id, bool *ret, struct error *err);
/* Until the sweep has listed this directory. */
must_check int mounted_node_sweep(struct mounted *mounted, uint64_t directory, uint64_t *ret_first,
				  uint64_t *ret_count, struct error *err);
