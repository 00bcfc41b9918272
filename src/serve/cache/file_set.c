/* SPDX-License-Identifier: MIT */
/* Walks down directories once each, whatever the names say: one that is in the set already is not listed again. */
#include "serve/cache/file_set.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "image/inode.h"
#include "image/names/names.h"

int file_set_open(struct file_set *ret, uint64_t inodes, struct error *err)
{
	uint64_t *bits = calloc(inodes / 64 + 1, sizeof(*bits));

	if (!bits)
		return error_no_memory(err);
	*ret = (struct file_set){ .bits = bits, .count = inodes };
	return 0;
}

void file_set_close(struct file_set *wanted)
{
	free(wanted->bits);
	*wanted = (struct file_set){ 0 };
}

bool file_set_add(struct file_set *wanted, uint64_t ordinal)
{
	if (!ordinal || ordinal > wanted->count)
		return false;
	wanted->bits[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
	return true;
}

uint64_t file_set_next(const struct file_set *wanted, uint64_t ordinal)
{
	uint64_t mask = ~UINT64_C(0) << ordinal % 64, bits;

	for (uint64_t word = ordinal / 64; word <= wanted->count / 64; word++, mask = ~UINT64_C(0)) {
		bits = wanted->bits[word] & mask;
		if (bits)
			return word * 64 + (uint64_t)__builtin_ctzll(bits);
	}
	return 0;
}

/* ---- directories ---- */

struct wanted_walk {
	struct file_set *wanted;
	struct names *names;
	uint64_t *directories; /* that are still to be listed */
	size_t count, room;
	int r;
	struct error *err;
};

static int wanted_push(struct wanted_walk *walk, uint64_t directory)
{
	int r = grow(walk->directories, walk->room, walk->count + 1, walk->err);

	if (r == 0)
		walk->directories[walk->count++] = directory;
	return r;
}

static int wanted_see(void *argument, const struct names_entry *entry)
{
	struct wanted_walk *walk = argument;

	if (entry->type == DT_DIR && !file_set_has(walk->wanted, entry->ordinal))
		walk->r = wanted_push(walk, entry->ordinal);
	(void)file_set_add(walk->wanted, entry->ordinal);
	return walk->r < 0;
}

/* Begins with the directories that were named. */
static int wanted_find(struct wanted_walk *walk, const struct index *index)
{
	struct inode inode;
	int r = 0;

	for (uint64_t i = file_set_next(walk->wanted, 1); r == 0 && i; i = file_set_next(walk->wanted, i + 1))
		if (inode_get(index, i, &inode, NULL) == 0 && S_ISDIR(inode.mode))
			r = wanted_push(walk, i);
	return r;
}

static int wanted_list(struct wanted_walk *walk)
{
	int r = 0;

	while (r == 0 && walk->count) {
		r = names_list(walk->names, walk->directories[--walk->count], 0, wanted_see, walk);
		if (r > 0)
			r = walk->r;
		else if (r < 0)
			error_set(walk->err, r, "the names cannot be read: %s", strerror(-r));
	}
	return r;
}

int file_set_expand(struct file_set *wanted, const struct index *index, struct error *err)
{
	auto_free uint64_t *directories = NULL;
	struct wanted_walk walk = { .wanted = wanted, .names = index->names, .err = err };
	int r;

	if (file_set_has(wanted, INODE_ROOT)) {
		for (uint64_t i = 1; i <= wanted->count; i++)
			(void)file_set_add(wanted, i);
		return 0;
	}
	r = wanted_find(&walk, index);
	if (r == 0)
		r = wanted_list(&walk);
	directories = walk.directories;
	return r;
}
