/* SPDX-License-Identifier: MIT */
/* The files are an array sorted by place. Taking one leaves its entry behind until the next files are merged in, which
 * is put off until a file is taken: so a group of files that comes with many commands is sorted once. */
#include "serve/readahead/upcoming.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "read/op.h"
#include "serve/readahead/pick.h"

#define UPCOMING_SLACK 1024u       /* keys of no use that are not worth a search */
#define UPCOMING_GAP   (16u << 10) /* a gap of so many bytes costs less than a read anywhere */
#define UPCOMING_PART  4u          /* a larger one, up to PICK_GAP, is 1/UPCOMING_PART of the run so far at most */

static int upcoming_order(uint64_t address, uint64_t ordinal, const struct upcoming_file *file)
{
	if (address != file->address)
		return address < file->address ? -1 : 1;
	return (ordinal > file->ordinal) - (ordinal < file->ordinal);
}

static int upcoming_compare(const void *a, const void *b)
{
	const struct upcoming_file *file = a;

	return upcoming_order(file->address, file->ordinal, b);
}

static int upcoming_compare_key(const void *key, const void *file)
{
	const struct upcoming_key *sought = key;

	return upcoming_order(sought->address, sought->ordinal, file);
}

/* The waiting file with this key, among those that are sorted; NULL: there is none. */
static struct upcoming_file *upcoming_find(const struct upcoming *upcoming, const struct upcoming_key *key)
{
	struct upcoming_file *file = NULL;

	if (upcoming->sorted)
		file = bsearch(key, upcoming->files, upcoming->sorted, sizeof(*file), upcoming_compare_key);
	return file && file->size ? file : NULL;
}

/* ---- sorting ---- */

/* Removes entries of files that were taken or announced twice from sorted files. Returns how many are left. */
static size_t upcoming_squeeze(struct upcoming_file *files, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if (!files[i].size || (left && upcoming_compare(&files[left - 1], &files[i]) == 0))
			continue;
		files[left++] = files[i];
	}
	return left;
}

/* Sorts all files. The sorted part comes first and stays in order, so only the rest is sorted and then merged. */
static void upcoming_sort(struct upcoming *upcoming)
{
	size_t old = upcoming->sorted, fresh = upcoming->count - old, at = upcoming->count;
	struct upcoming_file *tail = upcoming->files + old, *copy = old ? malloc(fresh * sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, tail, fresh * sizeof(*copy));
		qsort(copy, fresh, sizeof(*copy), upcoming_compare);
		while (fresh)
			upcoming->files[--at] =
				old && upcoming_compare(&upcoming->files[old - 1], &copy[fresh - 1]) > 0 ?
					upcoming->files[--old] :
					copy[--fresh];
		free(copy);
	} else {
		qsort(upcoming->files, upcoming->count, sizeof(*tail), upcoming_compare);
	}
	upcoming->count = upcoming_squeeze(upcoming->files, upcoming->count);
	upcoming->sorted = upcoming->waiting = (uint32_t)upcoming->count;
}

/* ---- the queue ---- */

/* Drops keys of files that were taken, and second ones of a file, once there are more of these than files. */
static void upcoming_trim(struct upcoming *upcoming)
{
	struct upcoming_file *file;
	size_t end = 0;

	if (upcoming->end < 2 * (size_t)upcoming->waiting + UPCOMING_SLACK)
		return;
	if (upcoming->sorted < upcoming->count)
		upcoming_sort(upcoming);
	for (size_t i = upcoming->head; i < upcoming->end; i++) {
		file = upcoming_find(upcoming, &upcoming->queue[i]);
		if (!file || file->is_seen)
			continue;
		file->is_seen = true;
		upcoming->queue[end++] = upcoming->queue[i];
	}
	for (size_t i = 0; i < upcoming->sorted; i++)
		upcoming->files[i].is_seen = false;
	upcoming->head = 0;
	upcoming->end = end;
}

/* The waiting file that is needed first; NULL: there is none. */
static struct upcoming_file *upcoming_first(struct upcoming *upcoming)
{
	struct upcoming_file *file = NULL;

	if (upcoming->sorted < upcoming->count)
		upcoming_sort(upcoming);
	while (!file && upcoming->head < upcoming->end)
		file = upcoming_find(upcoming, &upcoming->queue[upcoming->head++]);
	return file;
}

/* ---- calls ---- */

int upcoming_add(struct upcoming *upcoming, const struct upcoming_file *files, uint32_t count, struct error *err)
{
	int r;

	upcoming_trim(upcoming);
	r = grow(upcoming->files, upcoming->room, upcoming->count + count, err);
	if (r == 0)
		r = grow(upcoming->queue, upcoming->queue_room, upcoming->end + count, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++) {
		if (!files[i].size)
			continue;
		upcoming->files[upcoming->count++] = files[i];
		upcoming->queue[upcoming->end++] = (struct upcoming_key){ files[i].address, files[i].ordinal };
		upcoming->waiting++;
	}
	return 0;
}

static void upcoming_remove(struct upcoming *upcoming, struct upcoming_file *file)
{
	file->size = 0;
	upcoming->waiting--;
}

/* A run of files that are taken. */
struct upcoming_run {
	const struct upcoming_file *centre; /* the file that is needed first */
	size_t ends[2];                   /* its first file and its last one */
	uint64_t bytes;
	uint64_t *ordinals;
	uint32_t count, most;
};

static void upcoming_put(struct upcoming *upcoming, struct upcoming_run *run, size_t at)
{
	struct upcoming_file *file = &upcoming->files[at];

	run->ordinals[run->count++] = file->ordinal;
	run->bytes += file->size;
	upcoming_remove(upcoming, file);
}

/* Whether b, which lies behind a, is near enough: a gap may have a part of the run's bytes so far. So a file that lies
 * alone brings few unwanted bytes, and a long run takes in files a little before or behind it. */
static bool upcoming_joins(const struct upcoming_run *run, const struct upcoming_file *a, const struct upcoming_file *b)
{
	uint64_t gap = run->bytes / UPCOMING_PART;

	gap = gap < UPCOMING_GAP ? UPCOMING_GAP : gap > PICK_GAP ? PICK_GAP : gap;
	return b->address - a->address <= a->stored + gap;
}

/* Takes the next file before the run (side 0) or behind it (1). False: there is none near enough, or the run is long
 * enough. Entries of taken files are few within so many bytes. */
static bool upcoming_extend(struct upcoming *upcoming, struct upcoming_run *run, unsigned side)
{
	size_t step = side ? 1 : SIZE_MAX, at = run->ends[side];
	const struct upcoming_file *last = &upcoming->files[at], *file = last;

	do {
		at += step;
		if (at >= upcoming->sorted) /* also below 0 */
			return false;
		file = &upcoming->files[at];
		if ((side ? file->address - run->centre->address : run->centre->address - file->address) > READ_MAX)
			return false;
	} while (!file->size);
	if (run->count == run->most || run->bytes >= UPCOMING_BYTES ||
	    !(side ? upcoming_joins(run, last, file) : upcoming_joins(run, file, last)))
		return false;
	upcoming_put(upcoming, run, at);
	run->ends[side] = at;
	return true;
}

uint32_t upcoming_take(struct upcoming *upcoming, uint64_t *ordinals, uint32_t most, uint64_t *ret_bytes)
{
	struct upcoming_run run = { .centre = upcoming_first(upcoming), .ordinals = ordinals, .most = most };
	bool is_longer = run.centre && most;

	if (is_longer) {
		run.ends[0] = run.ends[1] = (size_t)(run.centre - upcoming->files);
		upcoming_put(upcoming, &run, run.ends[0]);
	}
	while (is_longer) {
		is_longer = false;
		for (unsigned side = 0; side < 2; side++)
			while (upcoming_extend(upcoming, &run, side))
				is_longer = true;
	}
	*ret_bytes = run.bytes;
	return run.count;
}

void upcoming_forget(struct upcoming *upcoming, uint64_t address, uint64_t ordinal)
{
	struct upcoming_file *file = upcoming_find(upcoming, &(struct upcoming_key){ address, ordinal });

	if (file)
		upcoming_remove(upcoming, file);
}

void upcoming_clear(struct upcoming *upcoming)
{
	free(upcoming->files);
	free(upcoming->queue);
	*upcoming = (struct upcoming){ 0 };
}
