/* SPDX-License-Identifier: MIT */
/* Replaces an earlier entry by a later one of the same name, as tar does. A hard link refers to the file that its
 * target names at that moment; if there is none yet, its number has no attributes until an entry of that name comes. */
#include "source/archive/tar_tree.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "datasetfs/format.h"
#include "image/sums/checksum.h"
#include "source/clean.h"

#define TAR_TREE_BUDGET (32u << 20)
#define TAR_TREE_MODE   0755u
#define TAR_TREE_ROOM   (TAR_STREAM_PATH + DSFS_NAME_MAX + 2) /* bytes of a path below the folder of its archive */
#define TAR_TREE_NUMBER 40u /* bits of an inode's number */

/* The end of a record of the sorter, after the path. */
struct tar_tree_tail {
	uint64_t age; /* big-endian; later entries have lower values */
	uint64_t number;
	uint8_t is_link;
} __attribute__((packed));

/* A path that an entry or a link has named. In the table the archive has the bits above those of the number. */
struct tar_tree_name {
	uint64_t number;  /* of the inode; 0: the path is left out */
	uint64_t archive; /* of its last entry, from 1; 0: it has none so far */
};

static struct attributes *tar_tree_inode(const struct tar_tree *tree, uint64_t number)
{
	return (struct attributes *)(void *)tree->inodes.bytes + (number - 1);
}

/* Follows a number to the inode it stands for, and shortens the path for the next time. */
static uint64_t tar_tree_root(const struct tar_tree *tree, uint64_t number)
{
	while (tar_tree_inode(tree, number)->inode != number) {
		struct attributes *inode = tar_tree_inode(tree, number);

		inode->inode = tar_tree_inode(tree, inode->inode)->inode;
		number = inode->inode;
	}
	return number;
}

static int tar_tree_new(struct tar_tree *tree, uint64_t *ret, struct error *err)
{
	struct attributes inode = { .inode = tree->inodes.length / sizeof(inode) + 1 };

	if (inode.inode >> TAR_TREE_NUMBER)
		return error_set(err, -EOVERFLOW, "the archives have 2^40 entries or more");
	*ret = inode.inode;
	return mapped_append(&tree->inodes, &inode, sizeof(inode), NULL, err);
}

static void tar_tree_fill(struct tar_tree *tree, uint64_t number, const struct attributes *attributes)
{
	struct attributes *inode = tar_tree_inode(tree, number);
	uint32_t nlink = inode->nlink;

	*inode = *attributes;
	inode->inode = number;
	inode->nlink = nlink > 1 ? nlink : 1;
}

int tar_tree_open(struct tar_tree *tree, const struct tar_tree_setup *setup, struct error *err)
{
	struct attributes implied = { .mode = S_IFDIR | TAR_TREE_MODE, .mtime = setup->epoch };
	uint64_t number = 0;
	int r;

	*tree = (struct tar_tree){ .setup = *setup };
	r = mapped_open(&tree->inodes, setup->temp, err);
	if (r == 0)
		r = table_open(&tree->paths, setup->temp, err);
	if (r == 0)
		r = sorter_open(setup->temp, TAR_TREE_BUDGET, &tree->sorter, err);
	if (r == 0)
		r = spool_open(&tree->folders, setup->temp, err);
	if (r == 0)
		r = spool_open(&tree->awaited, setup->temp, err);
	if (r == 0)
		r = tar_tree_new(tree, &number, err);
	tree->path = calloc(1, TAR_TREE_ROOM);
	tree->link = calloc(1, TAR_TREE_ROOM);
	tree->last = calloc(1, TAR_TREE_ROOM);
	if (r == 0 && (!tree->path || !tree->link || !tree->last))
		r = error_no_memory(err);
	if (r == 0)
		tar_tree_fill(tree, number, &implied);
	return r;
}

void tar_tree_close(struct tar_tree *tree)
{
	mapped_close(&tree->inodes);
	table_close(&tree->paths);
	sorter_free(tree->sorter);
	reorder_close(&tree->ordered);
	spool_close(&tree->folders);
	spool_close(&tree->awaited);
	free(tree->path);
	free(tree->link);
	free(tree->last);
	free(tree->name);
	*tree = (struct tar_tree){ 0 };
}

/* --- names --- */

/* Cleans a path by the options. Returns 1; 0: the name had components but none is left. */
static int tar_tree_clean(const struct tar_tree *tree, const char *path, uint32_t archive, char *out,
			  struct error *err)
{
	const char *folder = tar_origin_folder(tree->setup.origin, archive);
	size_t length = strlen(folder);
	char *below = out + length + !!length;
	int strip = (int)tree->setup.strip, components;

	components = clean_path(path, tree->setup.strip, "the archive", below, err);
	if (components < 0)
		return components;
	if (strlen(below) > TAR_STREAM_PATH - DSFS_NAME_MAX - 1 && length)
		return error_set(err, -ENAMETOOLONG, "'%.200s' in the archive: below its folder the path is too long",
				 path);
	memcpy(out, folder, length);
	if (length)
		out[length] = *below ? '/' : 0;
	return components > strip || !(components || strip);
}

static struct table_key tar_tree_key(const char *path)
{
	struct checksum_key key = checksum_128(path, strlen(path));

	return (struct table_key){ key.low, key.high };
}

static int tar_tree_sort_in(struct tar_tree *tree, const char *path, size_t length, uint32_t depth,
			    const struct tar_tree_tail *tail, struct error *err)
{
	size_t room = length + 1 + sizeof(*tail);
	auto_free char *record = malloc(room);
	uint32_t head = htobe32(depth);

	if (!record)
		return error_no_memory(err);
	for (size_t i = 0; i < length; i++)
		record[i] = path[i] == '/' ? 0 : path[i];
	record[length] = 0;
	memcpy(record + length + 1, tail, sizeof(*tail));
	return sorter_add(tree->sorter, &head, sizeof(head), record, room, err);
}

/* Adds the name, and its parents unless the name before it added them. */
static int tar_tree_add_name(struct tar_tree *tree, const char *path, uint64_t number, bool is_link,
			     struct error *err)
{
	struct tar_tree_tail implied = { .age = UINT64_MAX, .number = TAR_TREE_IMPLIED };
	struct tar_tree_tail tail = { htobe64(UINT64_MAX - ++tree->entries), number, is_link };
	size_t length = strlen(path), common = 0;
	uint32_t depth = 0;
	int r = 0;

	if (number == TAR_TREE_IMPLIED) /* a folder with attributes wins, no matter when it comes */
		tail = implied;
	while (path[common] && path[common] == tree->last[common])
		common++;
	for (size_t i = 0; r == 0 && i < length; i++) {
		if (path[i] != '/')
			continue;
		depth++;
		if (i >= common)
			r = tar_tree_sort_in(tree, path, i, depth, &implied, err);
	}
	if (r == 0)
		r = tar_tree_sort_in(tree, path, length, *path ? depth + 1 : 0, &tail, err);
	memcpy(tree->last, path, length + 1);
	return r;
}

/* --- entries --- */

/* Finds the path, with the number of the inode that it leads to by now. */
static bool tar_tree_find(const struct tar_tree *tree, const char *path, struct tar_tree_name *ret)
{
	uint64_t value;

	if (!table_find(&tree->paths, tar_tree_key(path), &value))
		return false;
	ret->number = value & ((UINT64_C(1) << TAR_TREE_NUMBER) - 1);
	ret->number = ret->number ? tar_tree_root(tree, ret->number) : 0;
	ret->archive = value >> TAR_TREE_NUMBER;
	return true;
}

static int tar_tree_set(struct tar_tree *tree, const char *path, const struct tar_tree_name *name, struct error *err)
{
	return table_set(&tree->paths, tar_tree_key(path), name->number | name->archive << TAR_TREE_NUMBER, err);
}

/* Makes the inode what the path of the entry leads to. */
static int tar_tree_name(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t number,
			 struct error *err)
{
	const struct tar_tree_name name = { number, entry->archive + UINT64_C(1) };

	return tar_tree_set(tree, tree->path, &name, err);
}

/* Notes what the entry replaces. Directories become one, and a link may be there already. */
static int tar_tree_replace(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t number,
			    struct error *err)
{
	struct tar_tree_name name;

	if (!tar_tree_find(tree, tree->path, &name) || !name.archive || name.number == number ||
	    (S_ISDIR(entry->attributes.mode) && S_ISDIR(tar_tree_inode(tree, name.number)->mode)))
		return 0;
	return tar_origin_replace(tree->setup.origin, tree->path, (uint32_t)(name.archive - 1), entry->archive, err);
}

/* Returns the number for a new inode at the path: the one that a link already refers to, or a new one. */
static int tar_tree_take(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret,
			 struct error *err)
{
	struct tar_tree_name name = { 0 };
	int r = 0;

	(void)tar_tree_find(tree, tree->path, &name);
	*ret = name.number;
	if (!name.number || tar_tree_inode(tree, name.number)->mode)
		r = tar_tree_new(tree, ret, err);
	return r < 0 ? r : tar_tree_name(tree, entry, *ret, err);
}

/* Gives a number to the target of a link, which has not come yet. */
static int tar_tree_await(struct tar_tree *tree, uint64_t *ret, struct error *err)
{
	struct tar_tree_name name = { 0 };
	int r = tar_tree_new(tree, &name.number, err);

	*ret = name.number;
	if (r == 0)
		r = tar_tree_set(tree, tree->link, &name, err);
	return r < 0 ? r : spool_push(&tree->awaited, ret, sizeof(*ret), tree->link, strlen(tree->link), err);
}

/* Finds the inode that the link leads to, or gives one a number. */
static int tar_tree_target(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret,
			   struct error *err)
{
	int r = tar_tree_clean(tree, entry->link, entry->archive, tree->link, err);
	struct tar_tree_name name = { 0 };
	bool is_there;

	if (r < 0)
		return r;
	is_there = tar_tree_find(tree, tree->link, &name);
	if (r == 0 || (is_there && !name.number))
		return error_set(err, -ENOENT, "'%s' is a hard link to '%s', which is left out", tree->path,
				 entry->link);
	*ret = name.number;
	return is_there ? 0 : tar_tree_await(tree, ret, err);
}

static int tar_tree_add_link(struct tar_tree *tree, const struct tar_stream_entry *entry, struct error *err)
{
	struct tar_tree_name own;
	uint64_t number;
	int r = tar_tree_target(tree, entry, &number, err);

	if (r == 0)
		r = tar_tree_replace(tree, entry, number, err);
	if (r < 0)
		return r;
	tar_tree_inode(tree, number)->nlink = 2;
	if (tar_tree_find(tree, tree->path, &own) && own.number && !tar_tree_inode(tree, own.number)->mode)
		tar_tree_inode(tree, own.number)->inode = number;
	r = tar_tree_name(tree, entry, number, err);
	return r < 0 ? r : tar_tree_add_name(tree, tree->path, number, true, err);
}

static int tar_tree_add_inode(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret,
			      struct error *err)
{
	struct attributes attributes = entry->attributes;
	uint64_t number = 0;
	int r;

	if (S_ISLNK(attributes.mode))
		attributes.mode = S_IFLNK | 0777;
	r = tar_tree_replace(tree, entry, 0, err);
	if (r == 0)
		r = tar_tree_take(tree, entry, &number, err);
	if (r < 0)
		return r;
	tar_tree_fill(tree, number, &attributes);
	*ret = S_ISREG(attributes.mode) || S_ISDIR(attributes.mode) || S_ISLNK(attributes.mode) ? number : 0;
	return tar_tree_add_name(tree, tree->path, number, false, err);
}

static void tar_tree_warn_absolute(struct tar_tree *tree, const char *path)
{
	if (*path == '/' && !tree->warned)
		log_warn("'%s' in the archive is absolute: names are taken without their leading '/'", path);
	tree->warned |= *path == '/';
}

int tar_tree_add(struct tar_tree *tree, const struct tar_stream_entry *entry, uint64_t *ret, struct error *err)
{
	const struct tar_tree_name left_out = { 0 };
	int r = tar_origin_enter(tree->setup.origin, entry->archive, entry->source, err);

	*ret = 0;
	if (r == 0)
		r = tar_tree_clean(tree, entry->path, entry->archive, tree->path, err);
	if (r < 0)
		return r;
	tar_tree_warn_absolute(tree, entry->path);
	if (r == 0 && S_ISDIR(entry->attributes.mode))
		return 0; /* stripped */
	if (r == 0 || !filter_match_all(tree->setup.filter, tree->path, S_ISDIR(entry->attributes.mode)))
		return r == 0 ? 0 : tar_tree_set(tree, tree->path, &left_out, err);
	if (!*tree->path && !S_ISDIR(entry->attributes.mode))
		return error_set(err, -EINVAL, "'%s' in the archive is not a directory", entry->path);
	if (entry->is_link)
		return tar_tree_add_link(tree, entry, err);
	if (entry->is_implied)
		return tar_tree_add_name(tree, tree->path, TAR_TREE_IMPLIED, false, err);
	return tar_tree_add_inode(tree, entry, ret, err);
}

const char *tar_tree_path(const struct tar_tree *tree)
{
	return tree->path;
}

struct attributes tar_tree_attributes(const struct tar_tree *tree, uint64_t number)
{
	return *tar_tree_inode(tree, number);
}

/* --- the scan --- */

/* Returns whether the record has the same path as the next entry. */
static bool tar_tree_is_same(const struct tar_tree *tree, const char *record, size_t length)
{
	if (!tree->name || strlen(tree->name) != length)
		return false;
	for (size_t i = 0; i < length; i++)
		if (tree->name[i] != (record[i] ? record[i] : '/'))
			return false;
	return true;
}

/* Moves on to the next record with another path: the first record of each path wins. */
static int tar_tree_next_name(struct tar_tree *tree, struct error *err)
{
	struct tar_tree_tail tail;
	const char *record;
	const void *bytes;
	size_t length;
	int r;

	do {
		r = sorter_next(tree->sorter, &bytes, &length, err);
		if (r <= 0) {
			free(take_ptr(&tree->name));
			return r;
		}
		record = (const char *)bytes + sizeof(uint32_t);
		length -= sizeof(uint32_t) + 1 + sizeof(tail);
	} while (tar_tree_is_same(tree, record, length));
	memcpy(&tail, record + length + 1, sizeof(tail));
	free(tree->name);
	tree->name = malloc(length + 1);
	if (!tree->name)
		return error_no_memory(err);
	for (size_t i = 0; i < length; i++)
		tree->name[i] = record[i] ? record[i] : '/';
	tree->name[length] = 0;
	tree->number = tail.number;
	tree->is_link = tail.is_link;
	return 0;
}

static int tar_tree_get(void *argument, uint64_t from, uint64_t to, const void **ret, size_t *ret_length,
			struct error *err)
{
	const struct tar_tree *tree = argument;

	(void)to;
	(void)err;
	*ret = tar_tree_inode(tree, tar_tree_root(tree, from));
	*ret_length = sizeof(struct attributes);
	return 0;
}

/* Sorts inodes into the order of the names. Looking them up by name would access them at random, and they may not fit
 * in memory. */
static int tar_tree_reorder(struct tar_tree *tree, struct error *err)
{
	uint64_t count = 0;
	int r = reorder_open(&tree->ordered, tree->setup.temp, err);

	if (r == 0)
		r = sorter_rewind(tree->sorter, err);
	if (r == 0)
		r = tar_tree_next_name(tree, err);
	while (r == 0 && tree->name) {
		r = tree->number == TAR_TREE_IMPLIED ? 0 : reorder_ask(&tree->ordered, tree->number, count++, err);
		if (r == 0)
			r = tar_tree_next_name(tree, err);
		if (r == 0)
			r = interrupt_check(err);
	}
	if (r == 0)
		r = reorder_fetch(&tree->ordered, tar_tree_get, tree, err);
	return r < 0 ? r : sorter_rewind(tree->sorter, err);
}

/* Moves on to the next name and its inode. */
static int tar_tree_advance(struct tar_tree *tree, struct error *err)
{
	const void *inode;
	uint64_t place;
	size_t length;
	int r = tar_tree_next_name(tree, err);

	if (r < 0 || !tree->name)
		return r;
	tree->inode = *tar_tree_inode(tree, TAR_TREE_IMPLIED);
	if (tree->number == TAR_TREE_IMPLIED)
		return 0;
	r = reorder_next(&tree->ordered, &place, &inode, &length, err);
	if (r <= 0)
		return r < 0 ? r : error_set(err, -EINVAL, "the archive has more names than before");
	memcpy(&tree->inode, inode, sizeof(tree->inode));
	return 0;
}

static int tar_tree_push_folder(struct tar_tree *tree, const struct attributes *inode, struct error *err)
{
	return spool_push(&tree->folders, inode, sizeof(*inode), NULL, 0, err);
}

/* Handles the root as any other folder; if an archive contains it, its record sorts first. */
int tar_tree_sort(struct tar_tree *tree, struct error *err)
{
	struct attributes root = *tar_tree_inode(tree, TAR_TREE_IMPLIED);
	int r = tar_tree_reorder(tree, err);

	if (r == 0)
		r = tar_tree_advance(tree, err);
	if (r == 0 && tree->name && !*tree->name) {
		root = tree->inode;
		r = tar_tree_advance(tree, err);
	}
	return r < 0 ? r : tar_tree_push_folder(tree, &root, err);
}

/* Sets the error for a link whose file never came. The name of the file is found where a link gave it its number. */
static int tar_tree_lost_link(struct tar_tree *tree, struct error *err)
{
	const void *record;
	uint64_t number;
	size_t length;
	int r;

	while ((r = spool_pop(&tree->awaited, &record, &length, err)) > 0) {
		memcpy(&number, record, sizeof(number));
		if (number == tree->inode.inode)
			return error_set(err, -ENOENT, "'%s' is a hard link to '%s', a file that the archive does not "
					 "have", tree->name, (const char *)record + sizeof(number));
	}
	return r < 0 ? r : error_set(err, -ENOENT, "'%s' is a hard link to a file that the archive does not have",
				     tree->name);
}

static int tar_tree_check_link(struct tar_tree *tree, uint32_t mode, struct error *err)
{
	if (!mode)
		return tar_tree_lost_link(tree, err);
	if (tree->is_link && S_ISDIR(mode))
		return error_set(err, -EPERM, "'%s' is a hard link to a directory", tree->name);
	return 0;
}

static int tar_tree_fill_listing(struct tar_tree *tree, struct listing *listing, struct error *err)
{
	const struct attributes *inode = &tree->inode;
	const char *name;
	int r = 0;

	while (r == 0 && (name = listing_name_in(tree->name, listing->dir->path, listing->dir->length))) {
		r = tar_tree_check_link(tree, inode->mode, err);
		if (r == 0 && S_ISDIR(inode->mode))
			r = tar_tree_push_folder(tree, inode, err);
		if (r == 0)
			r = sorter_add(listing->entries, name, strlen(name) + 1, inode, sizeof(*inode), err);
		if (r == 0)
			r = tar_tree_advance(tree, err);
	}
	return r < 0 ? r : sorter_rewind(listing->entries, err);
}

int tar_tree_directory(void *argument, const struct listing_context *context, const char *path, struct listing *ret,
		       struct error *err)
{
	struct tar_tree *tree = argument;
	struct listing listing = { 0 };
	const void *record;
	size_t length;
	int r;

	r = spool_pop(&tree->folders, &record, &length, err);
	if (r == 0)
		return error_set(err, -EINVAL, "the scan asks for a directory too many");
	if (r < 0)
		return r;
	memcpy(&listing.self, record, sizeof(listing.self));
	listing.dir = dirfd_name(path);
	r = listing.dir ? sorter_open(context->temp, context->budget, &listing.entries, err) : error_no_memory(err);
	if (r == 0)
		r = tar_tree_fill_listing(tree, &listing, err);
	if (r < 0) {
		listing_close(&listing);
		return r;
	}
	*ret = listing;
	return 0;
}

/* Returns the mode of the entry at the path, 0 if there is none. */
static uint32_t tar_tree_mode_at(const struct tar_tree *tree, const char *path)
{
	struct tar_tree_name name;

	if (!tar_tree_find(tree, path, &name) || !name.number)
		return 0;
	return tar_tree_inode(tree, name.number)->mode;
}

/* Sets the error for a name that is left over because an entry above it is no directory. */
static int tar_tree_below(const struct tar_tree *tree, struct error *err)
{
	uint32_t mode;

	for (char *slash = strchr(tree->name, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mode = tar_tree_mode_at(tree, tree->name);
		if (mode && !S_ISDIR(mode))
			error_set(err, -ENOTDIR, "'%s/%s' in the archive lies below '%s', which is a %s", tree->name,
				  slash + 1, tree->name, S_ISLNK(mode) ? "symbolic link" :
				  S_ISREG(mode) ? "regular file" : "device, socket or FIFO");
		*slash = '/';
		if (mode && !S_ISDIR(mode))
			return -ENOTDIR;
	}
	return error_set(err, -ENOTDIR, "'%s' in the archive lies below something that is not a directory",
			 tree->name);
}

int tar_tree_end(void *argument, const struct listing_context *context, struct error *err)
{
	const struct tar_tree *tree = argument;

	(void)context;
	return tree->name ? tar_tree_below(tree, err) : 0;
}
