/* SPDX-License-Identifier: MIT */
/* Walks down directories once each, whatever the names say: one that is in the set already is not listed again. */
#include "serve/warm/wanted.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "image/inode.h"
#include "image/names/names.h"

int wanted_open(struct wanted *ret, uint64_t inodes, struct error *err)
{
	uint64_t *bits = calloc(inodes / 64 + 1, sizeof(*bits));

	if (!bits)
		return error_no_memory(err);
	*ret = (struct wanted){ .bits = bits, .count = inodes };
	return 0;
}

void wanted_close(struct wanted *wanted)
{
	free(wanted->bits);
	*wanted = (struct wanted){ 0 };
}

bool wanted_add(struct wanted *wanted, uint64_t ordinal)
{
	if (!ordinal || ordinal > wanted->count)
		return false;
	wanted->bits[ordinal / 64] |= UINT64_C(1) << ordinal % 64;
	return true;
}

uint64_t wanted_next(const struct wanted *wanted, uint64_t ordinal)
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
	struct wanted *wanted;
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

	if (entry->type == DT_DIR && !wanted_has(walk->wanted, entry->ordinal))
		walk->r = wanted_push(walk, entry->ordinal);
	(void)wanted_add(walk->wanted, entry->ordinal);
	return walk->r < 0;
}

/* Begins with the directories that were named. */
static int wanted_find(struct wanted_walk *walk, const struct index *index)
{
	struct inode inode;
	int r = 0;

	for (uint64_t i = wanted_next(walk->wanted, 1); r == 0 && i; i = wanted_next(walk->wanted, i + 1))
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

int wanted_expand(struct wanted *wanted, const struct index *index, struct error *err)
{
	auto_free uint64_t *directories = NULL;
	struct wanted_walk walk = { .wanted = wanted, .names = index->names, .err = err };
	int r;

	if (wanted_has(wanted, INODE_ROOT)) {
		for (uint64_t i = 1; i <= wanted->count; i++)
			(void)wanted_add(wanted, i);
		return 0;
	}
	r = wanted_find(&walk, index);
	if (r == 0)
		r = wanted_list(&walk);
	directories = walk.directories;
	return r;
}
