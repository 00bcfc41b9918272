/* SPDX-License-Identifier: MIT */
/* The long holes of a file: chunks without a record each, in a list behind the records of the others. */
#pragma once
#include "image/index.h"
#include "image/inode.h"

struct hole {
	uint64_t record; /* of the hole in the index's chunk array */
	uint64_t first;  /* number of its first chunk in the file */
	uint64_t count;  /* chunks */
	uint64_t before; /* chunks of the holes before it in the list */
};

/* For an inode with DSFS_WHERE_HOLES in where: finds the list, and where the records begin that it has. */
must_check int hole_list_open(const struct index *index, struct inode *inode, struct error *err);
/* Every hole of the list, once, when the index is opened; what follows relies on it. */
must_check int hole_list_check(const struct index *index, const struct inode *inode, struct error *err);
/* The last hole that begins at or before the chunk; false when there is none. By halves: O(log holes). */
bool hole_list_find(const struct index *index, const struct inode *inode, uint64_t chunk, struct hole *ret);
