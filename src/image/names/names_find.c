/* SPDX-License-Identifier: MIT */
/* Follows pages that names_check() has checked, and stays inside them whatever they hold. */
#include "image/names/names_find.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/round.h"
#include "image/names/names_page.h"
#include "image/sums/checksum.h"

#define FIND_LINE 64u  /* bytes of a cache line */
#define FIND_HEAD 192u /* bytes of a page with its bounds and most of its offsets */
#define FIND_FEW  16u  /* nodes that are all prefetched; of more, only those of the next comparisons */
#define FIND_NEXT 3u   /* comparisons */
#define FIND_NEAR 2u   /* levels that stay in the cache: 100 pages at most, which all look-ups pass */

int names_find_open(struct span file, struct names_tree *ret, struct error *err)
{
	const struct lmdb_meta *metas[LMDB_METAS];
	const struct lmdb_meta *meta;

	for (unsigned i = 0; i < LMDB_METAS; i++) {
		metas[i] = span_at(file, i * NAMES_PAGE, sizeof(*metas[i]));
		if (!metas[i])
			return error_set(err, -EBADMSG, "names: %" PRIu64 " bytes are too few", file.size);
	}
	/* LMDB chooses between the two of a compact copy in the same way. */
	meta = metas[dsfs_le64_get(metas[1]->transaction) > dsfs_le64_get(metas[0]->transaction)];
	ret->file = file;
	ret->root = dsfs_le64_get(meta->names.root);
	ret->depth = dsfs_le16_get(meta->names.depth);
	return 0;
}

static bool find_is_in_leaf(const struct names_find *find)
{
	return find->level == find->tree->depth;
}

static bool find_is_near(const struct names_find *find)
{
	return find->level <= FIND_NEAR && !find_is_in_leaf(find);
}

static void find_turn_to(struct names_find *find, uint64_t number)
{
	find->is_open = false;
	find->page = number < find->tree->file.size / NAMES_PAGE ?
			     span_at(find->tree->file, number * NAMES_PAGE, NAMES_PAGE) :
			     NULL;
	if (find->page && !find_is_near(find))
		for (uint32_t at = 0; at < FIND_HEAD; at += FIND_LINE)
			__builtin_prefetch((const uint8_t *)find->page + at);
}

void names_find_begin(struct names_find *find, const struct names_tree *tree, uint64_t directory, const char *name,
		      size_t length)
{
	find->tree = tree;
	find->page = NULL;
	find->key_size = DSFS_KEY_PARENT;
	if (length == 0 || length > DSFS_NAME_MAX || name[0] == 0)
		return;
	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		find->key[i] = (uint8_t)(directory >> (8 * (DSFS_KEY_PARENT - 1 - i)));
	memcpy(find->key + DSFS_KEY_PARENT, name, length);
	find->key_size = DSFS_KEY_PARENT + (uint32_t)length;
	find->level = 1;
	if (tree->depth)
		find_turn_to(find, tree->root);
}

static void find_expect_node(const struct names_find *find, uint32_t i)
{
	__builtin_prefetch((const uint8_t *)find->page + names_page_offset(find->page, i));
}

/* Prefetches the nodes that the next comparisons may need: which of them is known only step by step. */
static void find_expect_halves(const struct names_find *find, uint32_t low, uint32_t high, unsigned levels)
{
	uint32_t middle = low + (high - low) / 2;

	if (low == high)
		return;
	find_expect_node(find, middle);
	if (--levels) {
		find_expect_halves(find, low, middle, levels);
		find_expect_halves(find, middle + 1, high, levels);
	}
}

static void find_expect(const struct names_find *find)
{
	if (find->high - find->low > FIND_FEW) {
		find_expect_halves(find, find->low, find->high, FIND_NEXT);
		return;
	}
	for (uint32_t i = find->low; i < find->high; i++)
		find_expect_node(find, i);
}

/* Sets the bounds. The first separator of a branch means nothing: keys before all others belong there. */
static int find_open(struct names_find *find)
{
	uint32_t lower = dsfs_le16_get(find->page->lower);

	if (dsfs_le16_get(find->page->flags) != (find_is_in_leaf(find) ? LMDB_LEAF : LMDB_BRANCH) ||
	    lower < sizeof(*find->page) + 2 || lower > NAMES_PAGE)
		return -EBADMSG;
	find->low = find_is_in_leaf(find) ? 0 : 1;
	find->high = names_page_count(find->page);
	find->is_open = true;
	if (!find_is_near(find))
		find_expect(find);
	return 1;
}

/* Compares only with nodes that were prefetched. */
static int find_narrow(struct names_find *find)
{
	bool is_asked = find_is_near(find) || find->high - find->low <= FIND_FEW;
	unsigned comparisons = is_asked ? UINT32_MAX : FIND_NEXT;
	struct span key = { find->key, find->key_size }, found;
	int order;

	for (; comparisons && find->low < find->high; comparisons--) {
		uint32_t middle = find->low + (find->high - find->low) / 2;

		if (!names_page_node(find->page, middle, &found))
			return -EBADMSG;
		order = names_page_compare(found, key);
		if (order > 0)
			find->high = middle;
		else
			find->low = middle + 1;
		if (order == 0)
			find->high = find->low;
	}
	if (find->low < find->high)
		find_expect(find);
	return 1;
}

/* Returns the ordinal of a node's entry if it has the name. */
static int find_compare(const struct names_find *find, const struct lmdb_page *page, const struct lmdb_node *node,
			struct span key, uint64_t *ret_ordinal)
{
	struct span value;
	uint64_t ordinal = 0;

	if (key.size != find->key_size || memcmp(key.base, find->key, key.size))
		return -ENOENT;
	if (!names_page_data(page, node, &value) || value.size != sizeof(struct dsfs_entry))
		return -EBADMSG;
	for (int i = 4; i >= 0; i--)
		ordinal = ordinal << 8 | value.base[i];
	*ret_ordinal = ordinal;
	return 0;
}

static int find_take(const struct names_find *find, uint64_t *ret_ordinal)
{
	const struct lmdb_node *node;
	struct span key;

	if (find->low == 0)
		return -ENOENT;
	node = names_page_node(find->page, find->low - 1, &key);
	return node ? find_compare(find, find->page, node, key, ret_ordinal) : -EBADMSG;
}

static int find_descend(struct names_find *find)
{
	struct span key;
	const struct lmdb_node *node = names_page_node(find->page, find->low - 1, &key);

	if (!node)
		return -EBADMSG;
	find->level++;
	find_turn_to(find, names_page_child(node));
	return find->page ? 1 : -EBADMSG;
}

static int find_advance(struct names_find *find, uint64_t *ret_ordinal)
{
	if (!find->page)
		return -ENOENT;
	if (!find->is_open)
		return find_open(find);
	if (find->low < find->high)
		return find_narrow(find);
	return find_is_in_leaf(find) ? find_take(find, ret_ordinal) : find_descend(find);
}

int names_find_step(struct names_find *find, uint64_t *ret_ordinal)
{
	int r;

	do
		r = find_advance(find, ret_ordinal);
	while (r > 0 && (find_is_near(find) || (find->is_open && find->low == find->high)));
	return r;
}

uint64_t names_find_hash(const struct names_find *find)
{
	return checksum_64(find->key, find->key_size);
}

uint64_t names_find_place(const struct names_find *find)
{
	return (uint64_t)((const uint8_t *)find->page - find->tree->file.base) +
	       names_page_offset(find->page, find->low - 1);
}

int names_find_again(const struct names_find *find, uint64_t place, uint64_t *ret_ordinal)
{
	const struct lmdb_page *page = span_at(find->tree->file, round_down(place, NAMES_PAGE), NAMES_PAGE);
	const struct lmdb_node *node;
	struct span key;

	if (!page)
		return -ENOENT;
	node = names_page_node_at(page, place % NAMES_PAGE, &key);
	return node ? find_compare(find, page, node, key, ret_ordinal) : -ENOENT;
}
