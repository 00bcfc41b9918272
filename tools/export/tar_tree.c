/* SPDX-License-Identifier: MIT */
/* Walks down each directory before its next sibling, as tar(1) expects: it gives a directory its times when the archive
 * leaves it. In memory are one path, and the first names of files that have others still to come. */
#include "export/tar_tree.h"

#include <dirent.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/names.h"

struct tar_tree_level {
	uint64_t directory;
	uint64_t next;      /* number of the entry to go on with */
	size_t path_length; /* of the directory's own path */
};

/* A file with several names, of which one was written. */
struct tar_tree_link {
	uint64_t ordinal;
	uint32_t left; /* names still to come */
	char path[];
};

struct tar_tree {
	const struct index *index;
	struct tar_queue *queue;
	struct tar_tree_counts counts;
	struct tar_tree_level *levels;
	size_t depth, room;
	char *path;
	size_t path_room;
	void *links; /* of tsearch(3) */
	struct error *err;
};

static int tar_tree_make_room(void *array, size_t *room, size_t wanted, size_t size, struct error *err)
{
	size_t more = *room * 2 > wanted ? *room * 2 : wanted + 64;
	void *moved;

	if (wanted <= *room)
		return 0;
	moved = realloc(*(void **)array, more * size);
	if (!moved)
		return error_set(err, -ENOMEM, "no memory for %zu bytes", more * size);
	*(void **)array = moved;
	*room = more;
	return 0;
}

/* ---- hard links ---- */

static int tar_tree_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct tar_tree_link *)a)->ordinal, y = ((const struct tar_tree_link *)b)->ordinal;

	return x < y ? -1 : x > y;
}

static int tar_tree_remember(struct tar_tree *tree, const struct inode *inode)
{
	size_t length = strlen(tree->path) + 1;
	struct tar_tree_link *link = malloc(sizeof(*link) + length);

	if (!link)
		return error_set(tree->err, -ENOMEM, "no memory for the names of hard links");
	link->ordinal = inode->ordinal;
	link->left = inode->nlink - 1;
	memcpy(link->path, tree->path, length);
	if (tsearch(link, &tree->links, tar_tree_compare))
		return 0;
	free(link);
	return error_set(tree->err, -ENOMEM, "no memory for the names of hard links");
}

static int tar_tree_add_link(struct tar_tree *tree, const struct inode *inode, struct tar_tree_link *link)
{
	const struct tar_write_entry entry = { .path = tree->path, .link = link->path, .inode = inode };
	int r = tar_queue_add(tree->queue, &entry, tree->err);

	tree->counts.hard_links++;
	if (--link->left == 0) {
		tdelete(link, &tree->links, tar_tree_compare);
		free(link);
	}
	return r;
}

/* ---- entries ---- */

static int tar_tree_add_first(struct tar_tree *tree, const struct inode *inode)
{
	const struct tar_write_entry entry = { .path = tree->path, .inode = inode };

	tree->counts.directories += S_ISDIR(inode->mode);
	tree->counts.symlinks += S_ISLNK(inode->mode);
	if (S_ISREG(inode->mode)) {
		tree->counts.files++;
		tree->counts.content_bytes += inode->size;
	}
	return tar_queue_add(tree->queue, &entry, tree->err);
}

/* The inode that has the tree's path. */
static int tar_tree_add(struct tar_tree *tree, uint64_t ordinal)
{
	const struct tar_tree_link wanted = { .ordinal = ordinal };
	struct tar_tree_link **link;
	struct inode inode;
	int r = inode_get(tree->index, ordinal, &inode, tree->err);

	if (r < 0)
		return r;
	link = tfind(&wanted, &tree->links, tar_tree_compare);
	if (link)
		return tar_tree_add_link(tree, &inode, *link);
	if (!S_ISDIR(inode.mode) && inode.nlink > 1)
		r = tar_tree_remember(tree, &inode);
	return r < 0 ? r : tar_tree_add_first(tree, &inode);
}

static int tar_tree_push(struct tar_tree *tree, uint64_t directory, size_t path_length)
{
	int r = tar_tree_make_room(&tree->levels, &tree->room, tree->depth + 1, sizeof(*tree->levels), tree->err);

	if (r == 0)
		tree->levels[tree->depth++] = (struct tar_tree_level){ directory, 0, path_length };
	return r;
}

/* A subdirectory ends the listing with 1: it is the next level; the listing goes on behind it later. */
static int tar_tree_entry(void *argument, const struct names_entry *entry)
{
	struct tar_tree *tree = argument;
	struct tar_tree_level *level = &tree->levels[tree->depth - 1];
	size_t length = level->path_length + 1 + entry->name_length;
	int r;

	r = tar_tree_make_room(&tree->path, &tree->path_room, length + 1, 1, tree->err);
	if (r < 0)
		return r;
	tree->path[level->path_length] = '/';
	memcpy(tree->path + level->path_length + 1, entry->name, entry->name_length);
	tree->path[length] = 0;
	level->next = entry->number + 1;
	r = tar_tree_add(tree, entry->ordinal);
	if (r < 0 || entry->type != DT_DIR)
		return r;
	r = tar_tree_push(tree, entry->ordinal, length);
	return r < 0 ? r : 1;
}

static int tar_tree_walk(struct tar_tree *tree, struct names_reader *reader)
{
	int r = tar_tree_make_room(&tree->path, &tree->path_room, 2, 1, tree->err);

	if (r == 0) {
		memcpy(tree->path, ".", 2);
		r = tar_tree_add(tree, INODE_ROOT);
	}
	if (r == 0)
		r = tar_tree_push(tree, INODE_ROOT, 1);
	while (r >= 0 && tree->depth) {
		const struct tar_tree_level *level = &tree->levels[tree->depth - 1];

		r = names_list(reader, level->directory, level->next, tar_tree_entry, tree);
		tree->depth -= r == 0;
	}
	if (r < 0 && !tree->err->code)
		return error_set(tree->err, r, "the names cannot be read: %s", strerror(-r));
	return r < 0 ? r : tar_queue_flush(tree->queue, tree->err);
}

int tar_tree_write(const struct index *index, struct tar_queue *queue, struct tar_tree_counts *ret, struct error *err)
{
	struct tar_tree tree = { .index = index, .queue = queue, .err = err };
	struct names_reader *reader;
	int r = names_reader_open(index->names, &reader, err);

	if (r < 0)
		return r;
	r = tar_tree_walk(&tree, reader);
	names_reader_close(reader);
	tdestroy(tree.links, free);
	free(tree.levels);
	free(tree.path);
	*ret = tree.counts;
	return r;
}
