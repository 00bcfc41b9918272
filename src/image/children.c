/* SPDX-License-Identifier: MIT */
/* Finds the ordinals of a directory's entries, and the directory of an ordinal. */
#include "image/children.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/inode.h"

struct children {
	size_t count, room;
	struct children_start late[]; /* of directories that begin with hard links, ascending */
};

/* --- directories that begin with hard links --- */

struct children_pass {
	struct children *children;
	uint64_t directory, highest; /* of the entry before */
};

static int children_add(struct children **children, uint64_t directory, uint64_t first)
{
	struct children *grown = *children;
	size_t room = grown->room ? 2 * grown->room : 64;

	if (grown->count == grown->room) {
		grown = realloc(grown, sizeof(*grown) + room * sizeof(*grown->late));
		if (!grown)
			return -ENOMEM;
		grown->room = room;
		*children = grown;
	}
	grown->late[grown->count++] = (struct children_start){ directory, first };
	return 0;
}

static int children_see(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct children_pass *pass = argument;
	bool is_new = entry->ordinal == pass->highest + 1, begins = directory != pass->directory;

	pass->directory = directory;
	pass->highest += is_new;
	return begins && !is_new ? children_add(&pass->children, directory, pass->highest + 1) : 0;
}

int children_open(const struct index *index, struct children **ret, struct error *err)
{
	struct children_pass pass = { .highest = INODE_ROOT };
	int r;

	if (index->shape.entry_count + 1 == index->shape.inode_count) {
		*ret = NULL;
		return 0;
	}
	pass.children = calloc(1, sizeof(*pass.children));
	r = pass.children ? names_walk(index->names, children_see, &pass) : -ENOMEM;
	if (r < 0) {
		free(pass.children);
		return error_set(err, r, "index: cannot find the directories that begin with hard links");
	}
	*ret = pass.children;
	return 0;
}

void children_free(struct children *children)
{
	free(children);
}

/* --- finding --- */

static const struct children_start *children_late_of(const struct children *children, uint64_t directory)
{
	size_t low = 0, high = children ? children->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (children->late[middle].directory == directory)
			return &children->late[middle];
		if (children->late[middle].directory < directory)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* Finds the first directory at or after directory that has entries, and their first ordinal; -ENOENT if none has. */
static int children_from(const struct children *children, const struct index *index, uint64_t directory,
			 struct children_start *ret, struct error *err)
{
	const struct children_start *late;
	int r = names_first(index->names, directory, &ret->directory, &ret->first);

	if (r < 0)
		return r == -ENOENT ? r : error_set(err, r, "names: damaged behind directory %" PRIu64, directory);
	late = children_late_of(children, ret->directory);
	if (late)
		*ret = *late;
	return 0;
}

int children_range(const struct children *children, const struct index *index, uint64_t directory,
		   struct children_range *ret, struct error *err)
{
	const uint64_t behind = index->shape.inode_count + 1;
	struct children_start own = { directory, behind }, next;
	int r = children_from(children, index, directory, &own, err);

	next = (struct children_start){ own.directory, behind };
	if (r == 0)
		r = children_from(children, index, directory + 1, &next, err);
	if (r < 0 && r != -ENOENT)
		return r;
	if (own.first > next.first || next.first > behind)
		return error_set(err, -EBADMSG, "names: ordinal %" PRIu64 " after %" PRIu64 " in directory %" PRIu64,
				 next.first, own.first, next.directory);
	*ret = (struct children_range){ own.first, next.first - own.first };
	return 0;
}

/* The range that holds the ordinal's directory: the entries of low begin at or before the ordinal, high is the last
 * candidate, and the entries of the directory after it begin at about high.first. */
struct children_search {
	struct children_start low, high;
};

/* Interpolates as if all directories had equally many entries; every third time halves the range, so that no tree is
 * slow. */
static uint64_t children_guess(const struct children_search *search, uint64_t ordinal, unsigned step)
{
	uint64_t low = search->low.directory, span = search->high.directory - low, guess;

	if (step % 3 == 2 || search->high.first <= ordinal)
		return low + (span + 1) / 2;
	guess = (uint64_t)((double)span * (double)(ordinal - search->low.first) /
			   (double)(search->high.first - search->low.first));
	return low + (guess == 0 ? 1 : guess < span ? guess : span);
}

static int children_narrow(const struct children *children, const struct index *index, uint64_t ordinal,
			   uint64_t guess, struct children_search *search, struct error *err)
{
	struct children_start found;
	int r = children_from(children, index, guess, &found, err);

	if (r < 0 && r != -ENOENT)
		return r;
	if (r == 0 && found.directory <= search->high.directory && found.first <= ordinal) {
		search->low = found;
		return 0;
	}
	search->high.directory = guess - 1;
	if (r == 0 && found.first > ordinal)
		search->high.first = found.first;
	return 0;
}

/* Searches only directories before the ordinal, because a directory comes before its entries. */
int children_find(const struct children *children, const struct index *index, uint64_t ordinal,
		  struct children_start *ret, struct error *err)
{
	struct children_search search = { { INODE_ROOT, INODE_ROOT + 1 }, { 0, index->shape.inode_count + 1 } };
	int r = names_last(index->names, &search.high.directory);

	if (r < 0 && r != -ENOENT)
		return error_set(err, r, "names: damaged at their end");
	if (r < 0 || ordinal <= INODE_ROOT || ordinal > index->shape.inode_count)
		return error_set(err, -EINVAL, "names: no directory has inode %" PRIu64 " of %" PRIu64, ordinal,
				 index->shape.inode_count);
	if (search.high.directory >= ordinal)
		search.high.directory = ordinal - 1;
	for (unsigned step = 0; search.low.directory < search.high.directory; step++) {
		r = children_narrow(children, index, ordinal, children_guess(&search, ordinal, step), &search, err);
		if (r < 0)
			return r;
	}
	*ret = search.low;
	return 0;
}
