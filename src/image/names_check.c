/* SPDX-License-Identifier: MIT */
/* Checks the subset of the LMDB 0.9 file format that the names of an index may use, and the rules for names. */
#include "image/names_check.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "datasetfs/control.h"
#include "image/inode.h"
#include "image/names_page.h"

#define LMDB_MAGIC    0xBEEFC0DEu
#define LMDB_VERSION  1u
#define LMDB_META     0x08u
#define LMDB_FLAGS    0x4008u /* of the free list's tree: integer keys, and MDB_NOSUBDIR of the environment */
#define LMDB_DEPTH    32u   /* LMDB's cursors hold no more levels */

struct check {
	const struct index *index;
	struct span file;
	uint64_t page_count, pages_seen;
	uint8_t *seen; /* a bit per page */
	uint32_t depth;
	struct span last_key, bound; /* base NULL: not set */
	uint64_t highest;            /* ordinal given so far */
	uint64_t entries;
	uint64_t claimed;       /* entries that directories say they have; at most the version's */
	struct inode directory; /* the one whose entries are being read; ordinal 0 before the first */
	uint64_t number;        /* of the next entry in it */
	struct span *marks;     /* names of entries n * DSFS_MARK_EVERY of the directory */
	size_t mark_count, mark_room;
};

/* --- rules of names --- */

static uint64_t key_parent(struct span key)
{
	uint64_t parent = 0;

	for (unsigned i = 0; i < DSFS_KEY_PARENT; i++)
		parent = parent << 8 | key.base[i];
	return parent;
}

static bool name_is_legal(struct span name)
{
	if (name.size == 0 || name.size > DSFS_NAME_MAX || memchr(name.base, 0, name.size) ||
	    memchr(name.base, '/', name.size))
		return false;
	return !(name.base[0] == '.' && (name.size == 1 || (name.size == 2 && name.base[1] == '.')));
}

/* A mount has its own folder of that name there, which identifies it and takes commands. */
static bool name_is_taken(uint64_t directory, struct span name)
{
	return directory == INODE_ROOT && name.size == strlen(DSFS_CONTROL_FOLDER) &&
	       !memcmp(name.base, DSFS_CONTROL_FOLDER, name.size);
}

static int check_directory_end(struct check *c, struct error *err)
{
	uint64_t marks = c->number ? (c->number - 1) / DSFS_MARK_EVERY : 0;

	if (c->directory.ordinal == 0)
		return 0;
	if (c->number != c->directory.size || c->mark_count != marks)
		return error_set(err, -EBADMSG,
				 "names: directory %" PRIu64 " has %" PRIu64 " entries and %" PRIu64
				 " marks, expected %" PRIu64
				 " and %" PRIu64,
				 c->directory.ordinal, c->number, c->mark_count, c->directory.size, marks);
	return 0;
}

static int check_directory_begin(struct check *c, uint64_t parent, struct error *err)
{
	int r = check_directory_end(c, err);

	if (r < 0)
		return r;
	if (parent == 0 || parent > c->highest)
		return error_set(err, -EBADMSG, "names: entries of directory %" PRIu64 " come before the directory",
				 parent);
	r = inode_get(c->index, parent, &c->directory, err);
	if (r < 0)
		return r;
	if (!S_ISDIR(c->directory.mode))
		return error_set(err, -EBADMSG, "names: inode %" PRIu64 " has entries but is not a directory", parent);
	c->number = 0;
	c->mark_count = 0;
	return 0;
}

static int check_mark(struct check *c, struct span key, struct span name, struct error *err)
{
	uint64_t n = 0;
	int r;

	for (unsigned i = DSFS_KEY_PARENT + 1; i < key.size; i++)
		n = n << 8 | key.base[i];
	if (key.size != DSFS_KEY_PARENT + 5 || n != c->mark_count + 1 || c->number != 0 || !name_is_legal(name))
		return error_set(err, -EBADMSG, "names: directory %" PRIu64 " has a bad mark %" PRIu64,
				 c->directory.ordinal, n);
	r = grow(c->marks, c->mark_room, c->mark_count + 1, err);
	if (r < 0)
		return r;
	c->marks[c->mark_count++] = name;
	return 0;
}

/* Adds up the entries that directories claim. A directory without entries has no key, so only the sum shows that it
 * claims some: the directories with entries account for all there are. */
static int check_claim(struct check *c, const struct inode *directory, struct error *err)
{
	if (directory->size > c->index->shape.entry_count - c->claimed)
		return error_set(err, -EBADMSG,
				 "names: directories up to %" PRIu64 " claim more than the %" PRIu64
				 " entries there are",
				 directory->ordinal, c->index->shape.entry_count);
	c->claimed += directory->size;
	return 0;
}

/* Checks breadth-first numbering: the next ordinal, or a hard link to an earlier inode that is no directory. */
static int check_ordinal(struct check *c, uint64_t ordinal, uint8_t type, struct error *err)
{
	bool is_new = ordinal == c->highest + 1;
	struct inode inode;
	int r;

	if (!is_new && (ordinal == 0 || ordinal > c->highest || type == DT_DIR))
		return error_set(err, -EBADMSG, "names: ordinal %" PRIu64 " after %" PRIu64 " in directory %" PRIu64,
				 ordinal, c->highest, c->directory.ordinal);
	r = inode_get(c->index, ordinal, &inode, err);
	if (r < 0)
		return r;
	if (IFTODT(inode.mode) != type || (type == DT_DIR && inode.where != c->directory.ordinal))
		return error_set(err, -EBADMSG,
				 "names: entry of type %u in directory %" PRIu64 " does not match inode %" PRIu64
				 ", mode %#o",
				 type, c->directory.ordinal, ordinal, inode.mode);
	c->highest += is_new;
	return type == DT_DIR ? check_claim(c, &inode, err) : 0;
}

static int check_entry(struct check *c, struct span name, struct span value, struct error *err)
{
	uint64_t ordinal = 0, mark = c->number / DSFS_MARK_EVERY;

	if (!name_is_legal(name) || value.size != sizeof(struct dsfs_entry))
		return error_set(err, -EBADMSG, "names: illegal name or value in directory %" PRIu64 ", entry %" PRIu64,
				 c->directory.ordinal, c->number);
	if (name_is_taken(c->directory.ordinal, name))
		return error_set(err, -EBADMSG,
				 "names: the root has an entry '%s', which is the name of the mount's own directory",
				 DSFS_CONTROL_FOLDER);
	if (c->number % DSFS_MARK_EVERY == 0 && mark > 0 &&
	    (mark > c->mark_count || names_page_compare(name, c->marks[mark - 1]) != 0))
		return error_set(err, -EBADMSG, "names: mark %" PRIu64 " of directory %" PRIu64 " names another entry",
				 mark, c->directory.ordinal);
	for (int i = 4; i >= 0; i--)
		ordinal = ordinal << 8 | value.base[i];
	c->number++;
	c->entries++;
	return check_ordinal(c, ordinal, value.base[5], err);
}

static int check_record(struct check *c, struct span key, struct span value, struct error *err)
{
	struct span rest;
	int r;

	if (key.size <= DSFS_KEY_PARENT)
		return error_set(err, -EBADMSG, "names: key of %" PRIu64 " bytes", key.size);
	if ((c->last_key.base && names_page_compare(c->last_key, key) >= 0) ||
	    (c->bound.base && names_page_compare(c->bound, key) > 0))
		return error_set(err, -EBADMSG, "names: keys are not ascending");
	c->last_key = key;
	c->bound = (struct span){ 0 };
	rest = (struct span){ key.base + DSFS_KEY_PARENT, key.size - DSFS_KEY_PARENT };
	if (!c->directory.ordinal || key_parent(key) != c->directory.ordinal) {
		r = check_directory_begin(c, key_parent(key), err);
		if (r < 0)
			return r;
	}
	return rest.base[0] == 0 ? check_mark(c, key, value, err) : check_entry(c, rest, value, err);
}

/* --- pages --- */

static int check_page_header(struct check *c, uint64_t number, uint32_t flags, const struct lmdb_page **ret,
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

static int check_leaf(struct check *c, uint64_t number, struct error *err)
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

static int check_tree(struct check *c, uint64_t number, uint32_t level, struct error *err)
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

static int check_meta_page(struct check *c, uint64_t number, const struct lmdb_meta **ret, struct error *err)
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
static int check_metas(struct check *c, const struct lmdb_meta **ret, struct error *err)
{
	const struct lmdb_meta *first, *second, *meta;
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

static int check_root(struct check *c, struct error *err)
{
	struct inode root;
	int r = inode_get(c->index, INODE_ROOT, &root, err);

	if (r < 0)
		return r;
	if (!S_ISDIR(root.mode) || root.where != INODE_ROOT)
		return error_set(err, -EBADMSG, "names: the root is not a directory: mode %#o", root.mode);
	c->highest = INODE_ROOT;
	return check_claim(c, &root, err);
}

static int check_all(struct check *c, struct error *err)
{
	const struct lmdb_meta *meta = NULL;
	int r;

	r = check_metas(c, &meta, err);
	if (r < 0)
		return r;
	r = check_root(c, err);
	if (r < 0)
		return r;
	c->depth = dsfs_le16_get(meta->names.depth);
	if ((c->depth == 0) != (dsfs_le64_get(meta->names.root) == LMDB_NO_PAGE))
		return error_set(err, -EBADMSG, "names: a tree of depth %" PRIu32 " with root page %#" PRIx64, c->depth,
				 dsfs_le64_get(meta->names.root));
	if (c->depth)
		r = check_tree(c, dsfs_le64_get(meta->names.root), 1, err);
	if (r == 0)
		r = check_directory_end(c, err);
	if (r < 0)
		return r;
	if (c->pages_seen + LMDB_METAS != c->page_count || c->entries != c->index->shape.entry_count ||
	    c->highest != c->index->shape.inode_count)
		return error_set(err, -EBADMSG,
				 "names: %" PRIu64 " pages, %" PRIu64 " entries, %" PRIu64 " inodes, expected %" PRIu64
				 ", %" PRIu64 ", %" PRIu64,
				 c->pages_seen, c->entries, c->highest, c->page_count - LMDB_METAS,
				 c->index->shape.entry_count, c->index->shape.inode_count);
	return 0;
}

int names_check(const struct index *index, struct span file, struct error *err)
{
	struct check c = { .index = index, .file = file, .page_count = file.size / NAMES_PAGE };
	int r;

	if (c.page_count < LMDB_METAS)
		return error_set(err, -EBADMSG, "names: %" PRIu64 " bytes are too few", file.size);
	c.seen = calloc(1, c.page_count / 8 + 1);
	if (!c.seen)
		return error_no_memory(err);
	r = check_all(&c, err);
	free(c.seen);
	free(c.marks);
	return r;
}
