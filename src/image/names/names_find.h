/* SPDX-License-Identifier: MIT */
/* Looks a name up in the pages of the names part, in steps: each step ends where the next one would wait for memory,
 * and prefetches that memory. So a thread that takes turns between many look-ups hardly ever waits. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "datasetfs/format.h"

struct lmdb_page;

/* The tree of an index's names. */
struct names_tree {
	struct span file; /* the names part */
	uint64_t root;    /* page number */
	uint32_t depth;   /* levels of pages; 0: there are no names */
};

/* Finds the tree. -EBADMSG: the part is too short to have one. */
must_check int names_find_open(struct span file, struct names_tree *ret, struct error *err);

/* A look-up of one name. */
struct names_find {
	const struct names_tree *tree;
	const struct lmdb_page *page; /* the page that is searched; NULL: there cannot be such a name */
	uint32_t level;               /* of the page, 1 for the root */
	bool is_open;                 /* low and high are set */
	uint32_t low, high;           /* the first node after the key is in this range */
	uint32_t key_size;
	uint8_t key[DSFS_KEY_PARENT + DSFS_NAME_MAX];
};

void names_find_begin(struct names_find *find, const struct names_tree *tree, uint64_t directory, const char *name,
		      size_t length);
/* Makes a step. 1: there is more to do; 0: *ret_ordinal is set; -ENOENT: there is no such name; -EBADMSG: damaged. */
must_check int names_find_step(struct names_find *find, uint64_t *ret_ordinal);
/* Returns where a name was found, in a leaf, for names_find_again(). */
uint64_t names_find_place(const struct names_find *find);
/* Looks for the name at a place from names_find_place(). Returns 0 and its ordinal, or a negative errno: the name is
 * not there, but may be elsewhere. */
must_check int names_find_again(const struct names_find *find, uint64_t place, uint64_t *ret_ordinal);
/* Returns a hash of the directory and the name. */
uint64_t names_find_hash(const struct names_find *find);
/* Returns the name that is looked up. */
static inline struct span names_find_name(const struct names_find *find)
{
	return (struct span){ find->key + DSFS_KEY_PARENT, find->key_size - DSFS_KEY_PARENT };
}
