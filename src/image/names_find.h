/* SPDX-License-Identifier: MIT */
/* Looks a name up in the pages of the names part, in steps: each ends where the next would wait for memory, which is
 * asked for meanwhile. So many look-ups by turns take little more time than their instructions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "datasetfs/format.h"

struct lmdb_page;

/* Where the names of an index are. */
struct names_tree {
	struct span file; /* the part */
	uint64_t root;    /* page */
	uint32_t depth;   /* levels of pages; 0: there are no names */
};

/* -EBADMSG: the part is too short to have any. */
must_check int names_find_open(struct span file, struct names_tree *ret, struct error *err);

/* Of one name. */
struct names_find {
	const struct names_tree *tree;
	const struct lmdb_page *page; /* that is searched; NULL: there cannot be such a name */
	uint32_t level;               /* of it, 1 for the root */
	bool is_open;                 /* its bounds are known: */
	uint32_t low, high;           /* the first node behind the key is one of these */
	uint32_t key_size;
	uint8_t key[DSFS_KEY_PARENT + DSFS_NAME_MAX];
};

void names_find_begin(struct names_find *find, const struct names_tree *tree, uint64_t directory, const char *name,
		      size_t length);
/* 1: there is more to do; 0: *ret_ordinal is known; -ENOENT: there is no such name; -EBADMSG: damaged. */
must_check int names_find_step(struct names_find *find, uint64_t *ret_ordinal);
/* Where it was found, in a leaf: the same look-up begins there another time. */
uint64_t names_find_place(const struct names_find *find);
/* Whether the name stands there: 0 and its ordinal, or a negative errno, and then it may stand elsewhere. */
must_check int names_find_again(const struct names_find *find, uint64_t place, uint64_t *ret_ordinal);
/* Of the directory and the name. */
uint64_t names_find_hash(const struct names_find *find);
/* What is looked for. */
static inline struct span names_find_name(const struct names_find *find)
{
	return (struct span){ find->key + DSFS_KEY_PARENT, find->key_size - DSFS_KEY_PARENT };
}
