/* SPDX-License-Identifier: MIT */
/* The files are an array sorted by place. Taking one leaves its entry behind until the next files are merged in, which
 * is put off until a file is taken: so a group of files that comes with many commands is sorted once. */
#include "serve/ahead/window.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "read/op.h"
#include "serve/ahead/pick.h"

#define WINDOW_SLACK 1024u       /* keys of no use that are not worth a search */
#define WINDOW_GAP   (16u << 10) /* a gap of so many bytes costs less than a read anywhere */
#define WINDOW_PART  4u          /* a larger one, up to PICK_GAP, is 1/WINDOW_PART of the run so far at most */

static int window_order(uint64_t address, uint64_t ordinal, const struct window_file *file)
{
	if (address != file->address)
		return address < file->address ? -1 : 1;
	return (ordinal > file->ordinal) - (ordinal < file->ordinal);
}

static int window_compare(const void *a, const void *b)
{
	const struct window_file *file = a;

	return window_order(file->address, file->ordinal, b);
}

static int window_compare_key(const void *key, const void *file)
{
	const struct window_key *sought = key;

	return window_order(sought->address, sought->ordinal, file);
}

/* The waiting file with this key, among those that are sorted; NULL: there is none. */
static struct window_file *window_find(const struct window *window, const struct window_key *key)
{
	struct window_file *file = NULL;

	if (window->sorted)
		file = bsearch(key, window->files, window->sorted, sizeof(*file), window_compare_key);
	return file && file->size ? file : NULL;
}

/* ---- sorting ---- */

/* Removes entries of files that were taken or announced twice from sorted files. Returns how many are left. */
static size_t window_squeeze(struct window_file *files, size_t count)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		if (!files[i].size || (left && window_compare(&files[left - 1], &files[i]) == 0))
			continue;
		files[left++] = files[i];
	}
	return left;
}

/* Sorts all files. The sorted part comes first and stays in order, so only the rest is sorted and then merged. */
static void window_sort(struct window *window)
{
	size_t old = window->sorted, fresh = window->count - old, at = window->count;
	struct window_file *tail = window->files + old, *copy = old ? malloc(fresh * sizeof(*copy)) : NULL;

	if (copy) {
		memcpy(copy, tail, fresh * sizeof(*copy));
		qsort(copy, fresh, sizeof(*copy), window_compare);
		while (fresh)
			window->files[--at] = old && window_compare(&window->files[old - 1], &copy[fresh - 1]) > 0 ?
						      window->files[--old] :
						      copy[--fresh];
		free(copy);
	} else {
		qsort(window->files, window->count, sizeof(*tail), window_compare);
	}
	window->count = window_squeeze(window->files, window->count);
	window->sorted = window->waiting = (uint32_t)window->count;
}

/* ---- the queue ---- */

/* Drops keys of files that were taken, and second ones of a file, once there are more of these than files. */
static void window_trim(struct window *window)
{
	struct window_file *file;
	size_t end = 0;

	if (window->end < 2 * (size_t)window->waiting + WINDOW_SLACK)
		return;
	if (window->sorted < window->count)
		window_sort(window);
	for (size_t i = window->head; i < window->end; i++) {
		file = window_find(window, &window->queue[i]);
		if (!file || file->is_seen)
			continue;
		file->is_seen = true;
		window->queue[end++] = window->queue[i];
	}
	for (size_t i = 0; i < window->sorted; i++)
		window->files[i].is_seen = false;
	window->head = 0;
	window->end = end;
}

/* The waiting file that is needed first; NULL: there is none. */
static struct window_file *window_first(struct window *window)
{
	struct window_file *file = NULL;

	if (window->sorted < window->count)
		window_sort(window);
	while (!file && window->head < window->end)
		file = window_find(window, &window->queue[window->head++]);
	return file;
}

/* ---- calls ---- */

int window_add(struct window *window, const struct window_file *files, uint32_t count, struct error *err)
{
	int r;

	window_trim(window);
	r = grow(window->files, window->room, window->count + count, err);
	if (r == 0)
		r = grow(window->queue, window->queue_room, window->end + count, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++) {
		if (!files[i].size)
			continue;
		window->files[window->count++] = files[i];
		window->queue[window->end++] = (struct window_key){ files[i].address, files[i].ordinal };
		window->waiting++;
	}
	return 0;
}

static void window_remove(struct window *window, struct window_file *file)
{
	file->size = 0;
	window->waiting--;
}

/* A run of files that are taken from a window. */
struct window_run {
	const struct window_file *centre; /* the file that is needed first */
	size_t ends[2];                   /* its first file and its last one */
	uint64_t bytes;
	uint64_t *ordinals;
	uint32_t count, most;
};

static void window_put(struct window *window, struct window_run *run, size_t at)
{
	struct window_file *file = &window->files[at];

	run->ordinals[run->count++] = file->ordinal;
	run->bytes += file->size;
	window_remove(window, file);
}

/* Whether b, which lies behind a, is near enough: a gap may have a part of what the run has already. So a file that
 * lies alone brings few bytes that nobody wants, and a long run the files that lie a little before or behind it. */
static bool window_joins(const struct window_run *run, const struct window_file *a, const struct window_file *b)
{
	uint64_t gap = run->bytes / WINDOW_PART;

	gap = gap < WINDOW_GAP ? WINDOW_GAP : gap > PICK_GAP ? PICK_GAP : gap;
	return b->address - a->address <= a->stored + gap;
}

/* Takes the next file before the run (side 0) or behind it (1). False: there is none near enough, or the run is long
 * enough. Entries of taken files are few within so many bytes. */
static bool window_extend(struct window *window, struct window_run *run, unsigned side)
{
	size_t step = side ? 1 : SIZE_MAX, at = run->ends[side];
	const struct window_file *last = &window->files[at], *file = last;

	do {
		at += step;
		if (at >= window->sorted) /* also below 0 */
			return false;
		file = &window->files[at];
		if ((side ? file->address - run->centre->address : run->centre->address - file->address) > READ_MAX)
			return false;
	} while (!file->size);
	if (run->count == run->most || run->bytes >= WINDOW_BYTES ||
	    !(side ? window_joins(run, last, file) : window_joins(run, file, last)))
		return false;
	window_put(window, run, at);
	run->ends[side] = at;
	return true;
}

uint32_t window_take(struct window *window, uint64_t *ordinals, uint32_t most, uint64_t *ret_bytes)
{
	struct window_run run = { .centre = window_first(window), .ordinals = ordinals, .most = most };
	bool is_longer = run.centre && most;

	if (is_longer) {
		run.ends[0] = run.ends[1] = (size_t)(run.centre - window->files);
		window_put(window, &run, run.ends[0]);
	}
	while (is_longer) {
		is_longer = false;
		for (unsigned side = 0; side < 2; side++)
			while (window_extend(window, &run, side))
				is_longer = true;
	}
	*ret_bytes = run.bytes;
	return run.count;
}

void window_forget(struct window *window, uint64_t address, uint64_t ordinal)
{
	struct window_file *file = window_find(window, &(struct window_key){ address, ordinal });

	if (file)
		window_remove(window, file);
}

void window_clear(struct window *window)
{
	free(window->files);
	free(window->queue);
	*window = (struct window){ 0 };
}
