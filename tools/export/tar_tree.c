/* SPDX-License-Identifier: MIT */
/* Follows the order of walk.h, which tar(1) expects: it sets the times of a directory once the archive leaves it. Keeps
 * in memory the first names of files that have more names to come. */
#include "export/tar_tree.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "walk.h"

/* A file with several names, after its first name was written. */
struct tar_tree_link {
	uint64_t ordinal;
	uint32_t left; /* names still to come */
	char path[];
};

struct tar_tree {
	const struct index *index;
	struct tar_queue *queue;
	struct tar_tree_counts counts;
	char *path; /* of the entry */
	void *links; /* of tsearch(3) */
	struct error *err;
};

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
		return error_no_memory(tree->err);
	link->ordinal = inode->ordinal;
	link->left = inode->nlink - 1;
	memcpy(link->path, tree->path, length);
	if (tsearch(link, &tree->links, tar_tree_compare))
		return 0;
	free(link);
	return error_no_memory(tree->err);
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

/* Finds the inode at the tree's path. */
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

static int tar_tree_entry(struct tar_tree *tree, const struct walk_entry *entry)
{
	int length = entry->name_length ? (int)entry->length : 0, r; /* the root is "." */

	if (asprintf(&tree->path, ".%.*s", length, entry->path) < 0)
		return error_no_memory(tree->err);
	r = tar_tree_add(tree, entry->ordinal);
	free(tree->path);
	return r;
}

static int tar_tree_walk(struct tar_tree *tree)
{
	auto_walk struct walk *walk = NULL;
	struct walk_entry entry;
	int r = walk_open(tree->index, NULL, &walk, tree->err), added = 0;

	if (r < 0)
		return r;
	while (added == 0 && (r = walk_next(walk, &entry, tree->err)) > 0)
		added = tar_tree_entry(tree, &entry);
	if (added < 0 || r < 0)
		return added < 0 ? added : r;
	return tar_queue_flush(tree->queue, tree->err);
}

int tar_tree_write(const struct index *index, struct tar_queue *queue, struct tar_tree_counts *ret, struct error *err)
{
	struct tar_tree tree = { .index = index, .queue = queue, .err = err };
	int r = tar_tree_walk(&tree);

	tdestroy(tree.links, free);
	*ret = tree.counts;
	return r;
}
