/* SPDX-License-Identifier: MIT */
/* Follows the order of walk.h, in which a directory is left once and for all: tar(1) sets its times then. */
#include "extract/tree.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "walk.h"

/* A file with several names, after its first name was written. */
struct tree_link {
	uint64_t ordinal;
	uint32_t left; /* names still to come */
	char path[];
};

struct tree {
	const struct index *index;
	struct stream *stream;
	struct tree_counts counts;
	char *path;  /* of the entry */
	void *links; /* of tsearch(3) */
};

/* ---- hard links ---- */

static int tree_compare(const void *a, const void *b)
{
	uint64_t x = ((const struct tree_link *)a)->ordinal, y = ((const struct tree_link *)b)->ordinal;

	return x < y ? -1 : x > y;
}

static int tree_remember(struct tree *tree, const struct inode *inode, struct error *err)
{
	size_t length = strlen(tree->path) + 1;
	struct tree_link *link = malloc(sizeof(*link) + length);

	if (!link)
		return error_no_memory(err);
	link->ordinal = inode->ordinal;
	link->left = inode->nlink - 1;
	memcpy(link->path, tree->path, length);
	if (tsearch(link, &tree->links, tree_compare))
		return 0;
	free(link);
	return error_no_memory(err);
}

static int tree_add_link(struct tree *tree, const struct inode *inode, struct tree_link *link, struct error *err)
{
	const struct stream_entry entry = { .path = tree->path, .link = link->path, .inode = inode };
	int r = stream_add(tree->stream, &entry, err);

	tree->counts.hard_links++;
	if (--link->left == 0) {
		tdelete(link, &tree->links, tree_compare);
		free(link);
	}
	return r;
}

/* ---- entries ---- */

static int tree_add_first(struct tree *tree, const struct inode *inode, struct error *err)
{
	const struct stream_entry entry = { .path = tree->path, .inode = inode };

	tree->counts.directories += S_ISDIR(inode->mode);
	tree->counts.symlinks += S_ISLNK(inode->mode);
	if (S_ISREG(inode->mode)) {
		tree->counts.files++;
		tree->counts.content_bytes += inode->size;
	}
	return stream_add(tree->stream, &entry, err);
}

/* Adds the inode under the tree's path. */
static int tree_add_inode(struct tree *tree, const struct inode *inode, struct error *err)
{
	const struct tree_link wanted = { .ordinal = inode->ordinal };
	struct tree_link **link = tfind(&wanted, &tree->links, tree_compare);
	int r = 0;

	if (link && !strcmp((*link)->path, tree->path)) /* the same name once more */
		return 0;
	if (link)
		return tree_add_link(tree, inode, *link, err);
	if (!S_ISDIR(inode->mode) && inode->nlink > 1)
		r = tree_remember(tree, inode, err);
	return r < 0 ? r : tree_add_first(tree, inode, err);
}

static int tree_add_entry(struct tree *tree, const struct walk_entry *entry, struct error *err)
{
	int length = entry->length > 1 ? (int)entry->length : 0; /* the root is "." */
	struct inode inode;
	int r = inode_get(tree->index, entry->ordinal, &inode, err);

	if (r < 0)
		return r;
	if (asprintf(&tree->path, ".%.*s", length, entry->path) < 0)
		return error_no_memory(err);
	r = tree_add_inode(tree, &inode, err);
	free(tree->path);
	return r;
}

static int tree_walk(struct tree *tree, const char *path, struct error *err)
{
	auto_walk struct walk *walk = NULL;
	struct walk_entry entry;
	int r = walk_open(tree->index, path, &walk, err), added = 0;

	if (r < 0)
		return r;
	while (added == 0 && (r = walk_next(walk, &entry, err)) > 0)
		added = tree_add_entry(tree, &entry, err);
	return added < 0 ? added : r;
}

/* Adds a file that is no directory. */
static int tree_add_file(struct tree *tree, const char *path, const struct inode *inode, struct error *err)
{
	size_t length = 0;
	int r;

	tree->path = malloc(strlen(path) + 3);
	if (!tree->path)
		return error_no_memory(err);
	tree->path[length++] = '.';
	for (const char *c = path; *c; c++) { /* one slash before each name, none at the end */
		if (*c == '/')
			continue;
		if (c == path || c[-1] == '/')
			tree->path[length++] = '/';
		tree->path[length++] = *c;
	}
	tree->path[length] = 0;
	r = tree_add_inode(tree, inode, err);
	free(tree->path);
	return r;
}

/* ---- the tree ---- */

int tree_open(const struct index *index, struct stream *stream, struct tree **ret, struct error *err)
{
	struct tree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return error_no_memory(err);
	tree->index = index;
	tree->stream = stream;
	*ret = tree;
	return 0;
}

void tree_close(struct tree *tree)
{
	if (tree)
		tdestroy(tree->links, free);
	free(tree);
}

int tree_add(struct tree *tree, const char *path, struct error *err)
{
	struct inode inode;
	uint64_t ordinal;
	int r = walk_find(tree->index->names, path, &ordinal, err);

	if (r == 0)
		r = inode_get(tree->index, ordinal, &inode, err);
	if (r < 0)
		return r;
	return S_ISDIR(inode.mode) ? tree_walk(tree, path, err) : tree_add_file(tree, path, &inode, err);
}

int tree_finish(struct tree *tree, struct tree_counts *ret, struct error *err)
{
	int r = stream_flush(tree->stream, err);

	if (r == 0)
		*ret = tree->counts;
	return r;
}
