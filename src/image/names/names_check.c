/* SPDX-License-Identifier: MIT */
/* Checks the subset of the LMDB 0.9 file format that the names of an index may use. */
#include "image/names/names_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "image/names/names_page.h"

#define LMDB_DEPTH    32u   /* LMDB's cursors hold no more levels */

struct names_check {
	names_check_record *each;
	void *argument;
	struct span file;
	uint64_t page_count, pages_seen;
	uint8_t *seen; /* a bit per page */
	uint32_t depth;
	struct span last_key, bound; /* base NULL: not set */
};

static int check_record(struct names_check *c, struct span key, struct span value, struct error *err)
{
	if (key.size <= DSFS_KEY_PARENT)
		return error_set(err, -EBADMSG, "names: key of %" PRIu64 " bytes", key.size);
	if ((c->last_key.base && names_page_compare(c->last_key, key) >= 0) ||
	    (c->bound.base && names_page_compare(c->bound, key) > 0))
		return error_set(err, -EBADMSG, "names: keys are not ascending");
	c->last_key = key;
	c->bound = (struct span){ 0 };
	return c->each(c->argument, key, value, err);
}

static int check_page_header(struct names_check *c, uint64_t number, uint32_t flags, const struct lmdb_page **ret,
			     struct error *err)
{
	const struct lmdb_page *page = NULL;
	uint32_t lower, upper;

	if (number < LMDB_METAS || number >= c->page_count)
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " of %" PRIu64 " does not exist", number,
				 c->page_count);
	if (c->seen[number / 8] & 1u << number % 8)
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " is referenced twice", number);
	c->seen[number / 8] |= (uint8_t)(1u << number % 8);
	c->pages_seen++;
	page = span_at(c->file, number * NAMES_PAGE, NAMES_PAGE);
	if (!page || dsfs_le64_get(page->number) != number || dsfs_le16_get(page->flags) != flags)
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " has the wrong number or type %#x", number,
				 page ? dsfs_le16_get(page->flags) : 0);
	lower = dsfs_le16_get(page->lower);
	upper = dsfs_le16_get(page->upper);
	if (lower < sizeof(*page) + 2 || lower % 2 || upper < lower || upper > NAMES_PAGE)
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " has bounds %" PRIu32 "..%" PRIu32, number,
				 lower, upper);
	*ret = page;
	return 0;
}

/* Returns NULL if the node, its key or its data leave the page's node area. */
static const struct lmdb_node *page_node(const struct lmdb_page *page, uint32_t i, bool leaf, struct span *ret_key,
					 struct span *ret_data)
{
	const struct lmdb_node *node = names_page_node(page, i, ret_key);

	if (!node || (const uint8_t *)node - (const uint8_t *)page < dsfs_le16_get(page->upper))
		return NULL;
	if (leaf)
		return names_page_data(page, node, ret_data) ? node : NULL;
	return node;
}

static int check_leaf(struct names_check *c, uint64_t number, struct error *err)
{
	const struct lmdb_page *page = NULL;
	struct span key, value;
	int r;

	r = check_page_header(c, number, LMDB_LEAF, &page, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < names_page_count(page); i++) {
		if (!page_node(page, i, true, &key, &value))
			return error_set(err, -EBADMSG, "names: page %" PRIu64 " node %" PRIu32 " is damaged", number,
					 i);
		r = check_record(c, key, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_tree(struct names_check *c, uint64_t number, uint32_t level, struct error *err)
{
	const struct lmdb_page *page = NULL;
	const struct lmdb_node *node;
	struct span key, none;
	int r;

	if (level == c->depth)
		return check_leaf(c, number, err);
	r = check_page_header(c, number, LMDB_BRANCH, &page, err);
	if (r < 0)
		return r;
	if (names_page_count(page) < 2) /* LMDB asserts it */
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " has one child, expected at least two", number);
	for (uint32_t i = 0; i < names_page_count(page); i++) {
		node = page_node(page, i, false, &key, &none);
		if (!node || (i && c->last_key.base && names_page_compare(c->last_key, key) >= 0))
			return error_set(err, -EBADMSG, "names: page %" PRIu64 " node %" PRIu32 " is damaged", number,
					 i);
		if (i) /* the first separator of a page means nothing */
			c->bound = key;
		r = check_tree(c, names_page_child(node), level + 1, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- metas --- */

static int check_meta_page(struct names_check *c, uint64_t number, const struct lmdb_meta **ret, struct error *err)
{
	const struct lmdb_meta *meta = span_at(c->file, number * NAMES_PAGE, NAMES_PAGE);

	if (!meta || dsfs_le64_get(meta->page.number) != number || dsfs_le16_get(meta->page.flags) != LMDB_META ||
	    dsfs_le32_get(meta->magic) != LMDB_MAGIC || dsfs_le32_get(meta->version) != LMDB_VERSION)
		return error_set(err, -EBADMSG, "names: page %" PRIu64 " is not an LMDB meta page", number);
	if (dsfs_le32_get(meta->free_list.pad) != NAMES_PAGE)
		return error_set(err, -EOPNOTSUPP, "names: LMDB pages of %" PRIu32 " bytes, expected %u",
				 dsfs_le32_get(meta->free_list.pad), NAMES_PAGE);
	*ret = meta;
	return 0;
}

/* Chooses the meta like LMDB: the one with the higher transaction, the first if they are equal. A compact copy numbers
 * them 0 and 1, an empty one 0 and 0. */
static int check_metas(struct names_check *c, const struct lmdb_meta **ret, struct error *err)
{
	const struct lmdb_meta *first = NULL, *second = NULL, *meta;
	int r;

	r = check_meta_page(c, 0, &first, err);
	if (r < 0)
		return r;
	r = check_meta_page(c, 1, &second, err);
	if (r < 0)
		return r;
	if (dsfs_le64_get(first->transaction) != 0 || dsfs_le64_get(second->transaction) > 1)
		return error_set(err, -EBADMSG,
				 "names: LMDB transactions %" PRIu64 " and %" PRIu64 ", expected 0 and 1",
				 dsfs_le64_get(first->transaction), dsfs_le64_get(second->transaction));
	meta = dsfs_le64_get(second->transaction) ? second : first;
	if (dsfs_le64_get(meta->address) != 0 || dsfs_le64_get(meta->last_page) != c->page_count - 1 ||
	    dsfs_le16_get(meta->free_list.flags) != LMDB_FLAGS || dsfs_le64_get(meta->free_list.root) != LMDB_NO_PAGE ||
	    dsfs_le64_get(meta->free_list.entries) != 0 || dsfs_le16_get(meta->names.flags) != 0 ||
	    dsfs_le64_get(meta->names.overflow_pages) != 0 || dsfs_le16_get(meta->names.depth) >= LMDB_DEPTH)
		return error_set(err, -EBADMSG,
				 "names: the LMDB meta page describes something other than a compact index");
	*ret = meta;
	return 0;
}

static int check_all(struct names_check *c, struct error *err)
{
	const struct lmdb_meta *meta = NULL;
	int r;

	r = check_metas(c, &meta, err);
	if (r < 0)
		return r;
	c->depth = dsfs_le16_get(meta->names.depth);
	if ((c->depth == 0) != (dsfs_le64_get(meta->names.root) == LMDB_NO_PAGE))
		return error_set(err, -EBADMSG, "names: a tree of depth %" PRIu32 " with root page %#" PRIx64, c->depth,
				 dsfs_le64_get(meta->names.root));
	if (c->depth)
		r = check_tree(c, dsfs_le64_get(meta->names.root), 1, err);
	if (r < 0)
		return r;
	if (c->pages_seen + LMDB_METAS != c->page_count)
		return error_set(err, -EBADMSG, "names: %" PRIu64 " pages in the tree, expected %" PRIu64,
				 c->pages_seen, c->page_count - LMDB_METAS);
	return 0;
}

int names_check(struct span file, names_check_record *each, void *argument, struct error *err)
{
	struct names_check c = { .each = each, .argument = argument, .file = file };
	int r;

	c.page_count = file.size / NAMES_PAGE;
	if (c.page_count < LMDB_METAS)
		return error_set(err, -EBADMSG, "names: %" PRIu64 " bytes are too few", file.size);
	c.seen = calloc(1, c.page_count / 8 + 1);
	if (!c.seen)
		return error_no_memory(err);
	r = check_all(&c, err);
	free(c.seen);
	return r;
}
