/* SPDX-License-Identifier: MIT */
/* Keeps a heap of the largest files so far. */
#include "describe/survey/largest.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void largest_open(struct largest *largest, size_t most)
{
	*largest = (struct largest){ .most = most };
}

void largest_close(struct largest *largest)
{
	for (size_t i = 0; i < largest->count; i++)
		free(largest->files[i].path);
	free(largest->files);
	*largest = (struct largest){ 0 };
}

static bool largest_is_before(const struct largest_file *a, const struct largest_file *b)
{
	return a->size != b->size ? a->size > b->size : a->number < b->number;
}

static void largest_swap(struct largest *largest, size_t a, size_t b)
{
	struct largest_file kept = largest->files[a];

	largest->files[a] = largest->files[b];
	largest->files[b] = kept;
}

static void largest_rise(struct largest *largest, size_t at)
{
	for (; at && largest_is_before(&largest->files[(at - 1) / 2], &largest->files[at]); at = (at - 1) / 2)
		largest_swap(largest, at, (at - 1) / 2);
}

static void largest_sink(struct largest *largest, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < largest->count; at = child) {
		if (child + 1 < largest->count &&
		    largest_is_before(&largest->files[child], &largest->files[child + 1]))
			child++;
		if (!largest_is_before(&largest->files[at], &largest->files[child]))
			return;
		largest_swap(largest, at, child);
	}
}

int largest_add(struct largest *largest, uint64_t size, const char *path, size_t length, struct error *err)
{
	struct largest_file file = { .size = size, .number = largest->added++, .length = length };
	bool is_full = largest->count == largest->most;

	if (!largest->most || (is_full && !largest_is_before(&file, largest->files)))
		return 0;
	file.path = malloc(length);
	if (!file.path || (!is_full && grow(largest->files, largest->room, largest->count + 1, NULL) < 0)) {
		free(file.path);
		return error_no_memory(err);
	}
	memcpy(file.path, path, length);
	if (is_full) {
		free(largest->files[0].path);
		largest->files[0] = file;
		largest_sink(largest, 0);
		return 0;
	}
	largest->files[largest->count++] = file;
	largest_rise(largest, largest->count - 1);
	return 0;
}

static int largest_compare(const void *a, const void *b)
{
	return largest_is_before(a, b) ? -1 : 1;
}

void largest_sort(struct largest *largest)
{
	if (largest->count)
		qsort(largest->files, largest->count, sizeof(*largest->files), largest_compare);
}
