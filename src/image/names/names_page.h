/* SPDX-License-Identifier: MIT */
/* The pages of the names part, which names_check() checks and look-ups follow. The layout is that of struct MDB_page,
 * MDB_node, MDB_meta and MDB_db in mdb.c of LMDB 0.9. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/span.h"
#include "datasetfs/format.h"

#define NAMES_PAGE    DSFS_BLOCK /* whatever the size of memory pages */
#define LMDB_MAGIC    0xBEEFC0DEu
#define LMDB_VERSION  1u
#define LMDB_BRANCH   0x01u
#define LMDB_LEAF     0x02u
#define LMDB_META     0x08u
#define LMDB_FLAGS    0x4008u /* of the free list's tree: integer keys, and MDB_NOSUBDIR of the environment */
#define LMDB_METAS    2u
#define LMDB_NO_PAGE  UINT64_MAX

struct lmdb_page {
	dsfs_le64 number;
	dsfs_le16 pad, flags;
	dsfs_le16 lower, upper; /* free space between the node offsets and the nodes */
};

struct lmdb_node {
	dsfs_le16 low, high; /* leaf: length of the data; branch: child page with flags as bits 32..47 */
	dsfs_le16 flags;
	dsfs_le16 key_length;
};

struct lmdb_tree {
	dsfs_le32 pad; /* of the first tree: the page size */
	dsfs_le16 flags, depth;
	dsfs_le64 branch_pages, leaf_pages, overflow_pages, entries;
	dsfs_le64 root;
};

struct lmdb_meta {
	struct lmdb_page page;
	dsfs_le32 magic, version;
	dsfs_le64 address, map_size;
	struct lmdb_tree free_list, names;
	dsfs_le64 last_page, transaction;
};

_Static_assert(sizeof(struct lmdb_page) == 16 && sizeof(struct lmdb_node) == 8, "LMDB page layout");
_Static_assert(sizeof(struct lmdb_tree) == 48 && sizeof(struct lmdb_meta) == 152, "LMDB meta layout");

/* Returns the number of nodes; the page's lower bound must lie in it. */
static inline uint32_t names_page_count(const struct lmdb_page *page)
{
	return (dsfs_le16_get(page->lower) - (uint32_t)sizeof(*page)) / 2;
}

/* Returns the offset of the i-th node, which may lie outside the page. */
static inline uint32_t names_page_offset(const struct lmdb_page *page, uint32_t i)
{
	dsfs_le16 at;

	memcpy(&at, (const uint8_t *)(page + 1) + 2 * i, sizeof(at));
	return dsfs_le16_get(at);
}

/* Returns the node at offset; NULL if it or its key leaves the page. */
static inline const struct lmdb_node *names_page_node_at(const struct lmdb_page *page, uint64_t offset,
							 struct span *ret_key)
{
	const struct span span = { (const uint8_t *)page, NAMES_PAGE };
	const struct lmdb_node *node = span_at(span, offset, sizeof(*node));

	if (!node || offset % 2)
		return NULL;
	ret_key->size = dsfs_le16_get(node->key_length);
	ret_key->base = span_at(span, offset + sizeof(*node), ret_key->size);
	return ret_key->base ? node : NULL;
}

static inline const struct lmdb_node *names_page_node(const struct lmdb_page *page, uint32_t i, struct span *ret_key)
{
	return names_page_node_at(page, names_page_offset(page, i), ret_key);
}

/* Gets the data after the key of a leaf's node. False if it leaves the page, or has flags that an index never has. */
static inline bool names_page_data(const struct lmdb_page *page, const struct lmdb_node *node, struct span *ret)
{
	const struct span span = { (const uint8_t *)page, NAMES_PAGE };
	uint64_t offset = (uint64_t)((const uint8_t *)node - span.base);

	ret->size = dsfs_le16_get(node->low) | (uint32_t)dsfs_le16_get(node->high) << 16;
	ret->base = span_at(span, offset + sizeof(*node) + dsfs_le16_get(node->key_length), ret->size);
	return ret->base && dsfs_le16_get(node->flags) == 0;
}

/* Returns the page below a branch's node. */
static inline uint64_t names_page_child(const struct lmdb_node *node)
{
	return dsfs_le16_get(node->low) | (uint64_t)dsfs_le16_get(node->high) << 16 |
	       (uint64_t)dsfs_le16_get(node->flags) << 32;
}

static inline int names_page_compare(struct span a, struct span b)
{
	int order = memcmp(a.base, b.base, a.size < b.size ? a.size : b.size);

	return order ? order : (a.size > b.size) - (a.size < b.size);
}
