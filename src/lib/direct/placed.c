/* SPDX-License-Identifier: MIT */
/* Without a table, a walk over inodes passes over everything but files. It begins at a mark, one for PLACED_MARK files,
 * which the version's first call sets. */
#include "lib/direct/placed.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "image/inode.h"
#include "image/places.h"
#include "lib/direct/direct.h"

#define PLACED_MARK 1024u

/* Returns 1 and the first file from *ordinal on, 0 if there is none. */
static int placed_next(const struct index *index, uint64_t *ordinal, struct error *err)
{
	struct inode inode;
	int r;

	for (; *ordinal <= index->shape.inode_count; (*ordinal)++) {
		r = inode_get(index, *ordinal, &inode, err);
		if (r < 0)
			return r;
		if (S_ISREG(inode.mode))
			return 1;
	}
	return 0;
}

static int placed_set_marks(const struct index *index, uint64_t *marks, uint64_t files, struct error *err)
{
	uint64_t ordinal = INODE_ROOT;
	int r;

	for (uint64_t i = 0; i < files; i++, ordinal++) {
		r = placed_next(index, &ordinal, err);
		if (r <= 0)
			return r < 0 ? r : error_set(err, -EBADMSG, "the index has fewer files than its version");
		if (i % PLACED_MARK == 0)
			marks[i / PLACED_MARK] = ordinal;
	}
	return 0;
}

/* Gets the version's marks, or makes them; two threads may do that at a time, and one result is kept. */
static int placed_marks(struct direct *direct, const uint64_t **ret, struct error *err)
{
	uint64_t *marks = atomic_load(&direct->marks), *first = NULL;
	uint64_t files = direct->opened.info.files;
	int r;

	if (!marks) {
		marks = calloc(files / PLACED_MARK + 1, sizeof(*marks));
		r = marks ? placed_set_marks(direct->version.index, marks, files, err) : error_no_memory(err);
		if (r < 0) {
			free(marks);
			return r;
		}
		if (!atomic_compare_exchange_strong(&direct->marks, &first, marks)) {
			free(marks);
			marks = first;
		}
	}
	*ret = marks;
	return 0;
}

static int placed_walk(struct direct *direct, uint64_t first, uint64_t *ids, uint64_t count, struct error *err)
{
	const uint64_t *marks;
	uint64_t ordinal;
	int r = placed_marks(direct, &marks, err);

	if (r < 0)
		return r;
	ordinal = marks[first / PLACED_MARK];
	for (uint64_t i = first / PLACED_MARK * PLACED_MARK; i < first + count; i++, ordinal++) {
		r = placed_next(direct->version.index, &ordinal, err);
		if (r <= 0)
			return r < 0 ? r : error_set(err, -EBADMSG, "the index has fewer files than its version");
		if (i >= first)
			ids[i - first] = direct_id(direct, ordinal);
	}
	return (int)count;
}

int placed_list(struct opened *opened, uint64_t first, uint64_t *ids, size_t most, struct error *err)
{
	struct direct *direct = (struct direct *)opened;
	uint64_t files = opened->info.files, count = first < files ? files - first : 0;

	if (count > most)
		count = most;
	if (count > INT_MAX)
		count = INT_MAX;
	if (!count || !places_has_table(direct->version.index))
		return count ? placed_walk(direct, first, ids, count, err) : 0;
	for (uint64_t i = 0; i < count; i++)
		ids[i] = direct_id(direct, places_get(direct->version.index, first + i));
	return (int)count;
}
