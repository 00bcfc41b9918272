/* SPDX-License-Identifier: MIT */
/* Collects records in an arena; a full arena is sorted and written to the temporary file as a run. A heap merges the
 * runs, each through its own part of the same memory. */
#include "spill/sorter.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"

#define SORTER_ARENA_FIRST 4096u
#define SORTER_READ_MIN    4096u

struct sorter_record {
	uint32_t length;
	const uint8_t *bytes;
};

/* A sorted run that is being read. */
struct sorter_run {
	uint64_t start, end; /* in the file */
	uint64_t next;       /* file offset of the bytes after those in buffer */
	uint8_t *buffer;
	size_t room, at, used;
	struct sorter_record head; /* its smallest record that was not returned yet */
};

struct sorter {
	const struct temp *temp;
	size_t budget;
	uint8_t *arena;
	size_t room, used;
	struct sorter_record *order; /* set when the arena is sorted */
	size_t records, position;
	int fd;
	uint64_t file_length;
	struct sorter_run *runs;
	size_t run_count;
	struct sorter_run **heap;
	size_t heap_count;
	bool advance; /* the record at the top of the heap was returned */
};

int sorter_open(const struct temp *temp, size_t budget, struct sorter **ret, struct error *err)
{
	struct sorter *sorter = calloc(1, sizeof(*sorter));

	if (!sorter)
		return error_no_memory(err);
	sorter->temp = temp;
	sorter->budget = budget;
	sorter->fd = -1;
	*ret = sorter;
	return 0;
}

static void sorter_runs_end(struct sorter *sorter)
{
	for (size_t i = 0; i < sorter->run_count; i++) {
		free(sorter->runs[i].buffer);
		sorter->runs[i].buffer = NULL;
	}
	free(sorter->heap);
	sorter->heap = NULL;
	sorter->heap_count = 0;
}

void sorter_free(struct sorter *sorter)
{
	if (!sorter)
		return;
	sorter_runs_end(sorter);
	free(sorter->runs);
	free(sorter->order);
	free(sorter->arena);
	if (sorter->fd >= 0)
		close(sorter->fd);
	free(sorter);
}

static int sorter_compare(const struct sorter_record *a, const struct sorter_record *b)
{
	uint32_t shorter = a->length < b->length ? a->length : b->length;
	int r = memcmp(a->bytes, b->bytes, shorter);

	return r ? r : (a->length > b->length) - (a->length < b->length);
}

static int sorter_compare_void(const void *a, const void *b)
{
	return sorter_compare(a, b);
}

/* Fills order[] with the records of the arena, sorted. */
static int sorter_arena(struct sorter *sorter, struct error *err)
{
	size_t at = 0;

	free(sorter->order);
	sorter->order = malloc((sorter->records + 1) * sizeof(*sorter->order));
	if (!sorter->order)
		return error_no_memory(err);
	for (size_t i = 0; i < sorter->records; i++) {
		uint32_t length;

		memcpy(&length, sorter->arena + at, sizeof(length));
		sorter->order[i] = (struct sorter_record){ length, sorter->arena + at + sizeof(length) };
		at += sizeof(length) + length;
	}
	qsort(sorter->order, sorter->records, sizeof(*sorter->order), sorter_compare_void);
	return 0;
}

/* Collects small writes into larger ones. */
struct sorter_output {
	struct sorter *sorter;
	uint8_t bytes[16384];
	size_t used;
};

static int sorter_output_flush(struct sorter_output *out, struct error *err)
{
	struct sorter *sorter = out->sorter;
	int r = temp_write(sorter->temp, sorter->fd, sorter->file_length, out->bytes, out->used, err);

	sorter->file_length += out->used;
	out->used = 0;
	return r;
}

static int sorter_output_put(struct sorter_output *out, const void *bytes, size_t length, struct error *err)
{
	const uint8_t *from = bytes;
	size_t part;
	int r;

	while (length) {
		part = sizeof(out->bytes) - out->used < length ? sizeof(out->bytes) - out->used : length;
		memcpy(out->bytes + out->used, from, part);
		out->used += part;
		from += part;
		length -= part;
		if (out->used == sizeof(out->bytes)) {
			r = sorter_output_flush(out, err);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int sorter_write_order(struct sorter *sorter, struct error *err)
{
	struct sorter_output out = { .sorter = sorter };
	int r;

	for (size_t i = 0; i < sorter->records; i++) {
		r = sorter_output_put(&out, &sorter->order[i].length, sizeof(uint32_t), err);
		if (r == 0)
			r = sorter_output_put(&out, sorter->order[i].bytes, sorter->order[i].length, err);
		if (r < 0)
			return r;
	}
	return sorter_output_flush(&out, err);
}

/* Writes the arena to the file as a run. */
static int sorter_spill(struct sorter *sorter, struct error *err)
{
	uint64_t start = sorter->file_length;
	int r;

	if (sorter->fd < 0) {
		r = temp_file(sorter->temp, &sorter->fd, err);
		if (r < 0)
			return r;
	}
	r = grow_one(sorter->runs, sorter->run_count, err);
	if (r == 0)
		r = sorter_arena(sorter, err);
	if (r == 0)
		r = sorter_write_order(sorter, err);
	if (r < 0)
		return r;
	sorter->runs[sorter->run_count++] = (struct sorter_run){ .start = start, .end = sorter->file_length };
	sorter->used = 0;
	sorter->records = 0;
	return 0;
}

static int sorter_arena_room(struct sorter *sorter, size_t need, struct error *err)
{
	size_t room = sorter->room ? sorter->room : SORTER_ARENA_FIRST;
	uint8_t *arena;

	while (room < need)
		room *= 2;
	if (room == sorter->room)
		return 0;
	arena = realloc(sorter->arena, room);
	if (!arena)
		return error_no_memory(err);
	sorter->arena = arena;
	sorter->room = room;
	return 0;
}

static void sorter_put(struct sorter *sorter, const void *bytes, size_t length)
{
	if (length)
		memcpy(sorter->arena + sorter->used, bytes, length);
	sorter->used += length;
}

int sorter_add(struct sorter *sorter, const void *head, size_t head_length, const void *bytes, size_t length,
	       struct error *err)
{
	uint32_t total = (uint32_t)(head_length + length);
	size_t need = sizeof(total) + total;
	size_t taken = sorter->used + need + (sorter->records + 1) * sizeof(struct sorter_record);
	int r;

	if (taken > sorter->budget && sorter->records) {
		r = sorter_spill(sorter, err);
		if (r < 0)
			return r;
	}
	r = sorter_arena_room(sorter, sorter->used + need, err);
	if (r < 0)
		return r;
	sorter_put(sorter, &total, sizeof(total));
	sorter_put(sorter, head, head_length);
	sorter_put(sorter, bytes, length);
	sorter->records++;
	return 0;
}

/* Makes length bytes of the run available at its current position; reads ahead as far as the buffer allows. */
static int sorter_run_need(struct sorter *sorter, struct sorter_run *run, size_t length, struct error *err)
{
	size_t left = run->used - run->at;
	size_t fill;
	int r;

	if (left >= length)
		return 0;
	if (left)
		memmove(run->buffer, run->buffer + run->at, left);
	run->at = 0;
	run->used = left;
	if (length > run->room) {
		uint8_t *buffer = realloc(run->buffer, length);

		if (!buffer)
			return error_no_memory(err);
		run->buffer = buffer;
		run->room = length;
	}
	fill = run->room - left;
	if (fill > run->end - run->next)
		fill = (size_t)(run->end - run->next);
	r = temp_read(sorter->temp, sorter->fd, run->next, run->buffer + left, fill, err);
	if (r < 0)
		return r;
	run->next += fill;
	run->used += fill;
	return 0;
}

/* Reads the run's next record into head: 1, or 0 at its end. */
static int sorter_run_next(struct sorter *sorter, struct sorter_run *run, struct error *err)
{
	int r;

	if (run->at == run->used && run->next == run->end)
		return 0;
	r = sorter_run_need(sorter, run, sizeof(uint32_t), err);
	if (r < 0)
		return r;
	memcpy(&run->head.length, run->buffer + run->at, sizeof(uint32_t));
	r = sorter_run_need(sorter, run, sizeof(uint32_t) + run->head.length, err);
	if (r < 0)
		return r;
	run->head.bytes = run->buffer + run->at + sizeof(uint32_t);
	run->at += sizeof(uint32_t) + run->head.length;
	return 1;
}

static void sorter_heap_sink(struct sorter *sorter, size_t i)
{
	struct sorter_run **heap = sorter->heap;

	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < sorter->heap_count; child++)
			if (sorter_compare(&heap[child]->head, &heap[least]->head) < 0)
				least = child;
		if (least == i)
			return;
		struct sorter_run *moved = heap[i];

		heap[i] = heap[least];
		heap[least] = moved;
		i = least;
	}
}

static int sorter_run_begin(struct sorter *sorter, struct sorter_run *run, struct error *err)
{
	size_t room = sorter->budget / sorter->run_count;
	int r;

	run->room = room > SORTER_READ_MIN ? room : SORTER_READ_MIN;
	run->buffer = malloc(run->room);
	if (!run->buffer)
		return error_no_memory(err);
	run->next = run->start;
	run->at = run->used = 0;
	r = sorter_run_next(sorter, run, err);
	if (r > 0)
		sorter->heap[sorter->heap_count++] = run;
	return r;
}

static int sorter_merge_begin(struct sorter *sorter, struct error *err)
{
	int r;

	sorter_runs_end(sorter);
	sorter->heap = malloc(sorter->run_count * sizeof(*sorter->heap));
	if (!sorter->heap)
		return error_no_memory(err);
	for (size_t i = 0; i < sorter->run_count; i++) {
		r = sorter_run_begin(sorter, &sorter->runs[i], err);
		if (r < 0)
			return r;
	}
	for (size_t i = sorter->heap_count; i-- > 0;)
		sorter_heap_sink(sorter, i);
	sorter->advance = false;
	return 0;
}

/* If there are runs in the file, the rest of the arena becomes the last one, and the merge uses its memory. */
int sorter_rewind(struct sorter *sorter, struct error *err)
{
	int r;

	sorter->position = 0;
	if (!sorter->run_count)
		return sorter->order ? 0 : sorter_arena(sorter, err);
	if (sorter->records) {
		r = sorter_spill(sorter, err);
		if (r < 0)
			return r;
	}
	free(sorter->arena);
	free(sorter->order);
	sorter->arena = NULL;
	sorter->order = NULL;
	sorter->room = 0;
	return sorter_merge_begin(sorter, err);
}

static int sorter_merge_next(struct sorter *sorter, const void **ret, size_t *ret_length, struct error *err)
{
	int r;

	if (sorter->advance && sorter->heap_count) {
		r = sorter_run_next(sorter, sorter->heap[0], err);
		if (r < 0)
			return r;
		if (r == 0)
			sorter->heap[0] = sorter->heap[--sorter->heap_count];
		sorter_heap_sink(sorter, 0);
	}
	sorter->advance = true;
	if (!sorter->heap_count)
		return 0;
	*ret = sorter->heap[0]->head.bytes;
	*ret_length = sorter->heap[0]->head.length;
	return 1;
}

int sorter_next(struct sorter *sorter, const void **ret, size_t *ret_length, struct error *err)
{
	if (sorter->run_count)
		return sorter_merge_next(sorter, ret, ret_length, err);
	if (sorter->position == sorter->records)
		return 0;
	*ret = sorter->order[sorter->position].bytes;
	*ret_length = sorter->order[sorter->position].length;
	sorter->position++;
	return 1;
}
