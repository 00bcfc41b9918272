/* SPDX-License-Identifier: MIT */
/* Keeps a ring of slots that one thread fills and empties in order. A slot is the header of an entry, a range of its
 * bytes, or both: a small file takes one. Reads of all slots run in parallel, and each read verifies its bytes. */
#include "extract/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "base/program/progress.h"
#include "image/extent.h"
#include "read/queue.h"

#define STREAM_SLOTS 16u

struct stream_slot {
	struct queue_slot read; /* must be the first field */
	char *path, *link; /* of the entry */
	bool is_head, is_end; /* the entry begins, or ends, with it */
	struct inode inode;
	uint64_t hole; /* zeros before the bytes */
	size_t size;   /* length of the range; 0: there is nothing to read */
	int64_t result;
	struct error failure; /* of the read */
};

struct stream {
	struct stream_setup setup;
	struct queue reads;
	struct reader_counters counters;
	struct stream_slot *slots[STREAM_SLOTS]; /* a ring, in the order of the entries */
	unsigned first, used;
};

/* ---- reading ---- */

static void stream_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	(void)chunk;
	((struct stream_slot *)op)->failure = *err;
}

static void stream_done(struct queue_slot *slot, int64_t result)
{
	((struct stream_slot *)slot)->result = result;
}

static int stream_open_reads(struct stream *stream, struct error *err)
{
	static const struct reader_options options = { .verify = true };
	static const struct reader_events events = { .failed = stream_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct stream_slot), .events = &events,
						    .done = stream_done };
	const struct array_source *array = stream->setup.array;
	const struct queue_setup setup = { .client = &client,
					   .reader = { .options = &options, .geometry = array->geometry,
						       .counters = &stream->counters },
					   .depth = STREAM_SLOTS, .has_payloads = true, .is_huge = true };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = array->fds,
					     .member_count = array->count, .depth = STREAM_SLOTS * READ_RANGES };
	int r = queue_open(&stream->reads, &setup, err);

	return r < 0 ? r : queue_start(&stream->reads, &engine, ring_new, pool_new, err);
}

int stream_open(const struct stream_setup *setup, struct stream **ret, struct error *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return error_no_memory(err);
	stream->setup = *setup;
	r = stream_open_reads(stream, err);
	if (r < 0) {
		stream_close(stream);
		return r;
	}
	*ret = stream;
	return 0;
}

/* ---- slots ---- */

static void stream_give(struct stream_slot *slot)
{
	free(slot->path);
	free(slot->link);
	slot->path = slot->link = NULL;
	queue_give(&slot->read);
}

static void stream_give_first(struct stream *stream)
{
	stream_give(stream->slots[stream->first]);
	stream->first = (stream->first + 1) % STREAM_SLOTS;
	stream->used--;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	if (queue_drain(&stream->reads, NULL) < 0)
		return; /* the device may still write to their memory */
	while (stream->used)
		stream_give_first(stream);
	queue_close(&stream->reads);
	free(stream);
}

/* ---- taking ---- */

static int stream_check(const struct stream_slot *slot, struct error *err)
{
	if (slot->result < 0)
		return error_pass(err, slot->failure.code ? slot->failure.code : (int)slot->result, &slot->failure);
	if ((size_t)slot->result != slot->size)
		return error_set(err, -EIO, "%lld bytes were read, expected %zu", (long long)slot->result, slot->size);
	return 0;
}

static int stream_give_out(const struct stream *stream, const struct stream_slot *slot, struct error *err)
{
	const struct stream_entry entry = { .path = slot->path, .link = slot->link, .inode = &slot->inode };
	const struct stream_taker *taker = stream->setup.taker;
	void *argument = stream->setup.argument;
	int r = 0;

	if (slot->is_head)
		r = taker->head(argument, &entry, err);
	if (r == 0 && slot->hole)
		r = taker->hole(argument, slot->hole, err);
	if (r == 0 && slot->size)
		r = taker->data(argument, queue_payload(&slot->read), slot->size, err);
	if (r == 0 && slot->is_end && taker->end)
		r = taker->end(argument, err);
	progress_add(stream->setup.progress, slot->is_head, slot->hole + slot->size);
	return r;
}

/* Hands out the oldest slot. */
static int stream_take(struct stream *stream, struct error *err)
{
	struct stream_slot *slot = stream->slots[stream->first];
	int r = interrupt_check(err);

	if (r == 0) /* starts the reads that were added, while this slot is taken */
		r = queue_wait(&stream->reads, 0, err);
	if (r < 0)
		return r;
	r = queue_finish(&slot->read, err);
	if (r == 0)
		r = stream_check(slot, err);
	if (r < 0)
		return error_wrap(err, r, "'%s'", slot->path);
	r = stream_give_out(stream, slot, err);
	if (r == 0)
		stream_give_first(stream);
	return r;
}

int stream_flush(struct stream *stream, struct error *err)
{
	int r = 0;

	while (r == 0 && stream->used)
		r = stream_take(stream, err);
	return r;
}

/* Takes a slot and copies the names of the entry to it; the caller adds the content. */
static int stream_next(struct stream *stream, const struct stream_entry *entry, struct stream_slot **ret,
			  struct error *err)
{
	struct stream_slot *slot;
	int r = queue_has_room(&stream->reads) ? 0 : stream_take(stream, err);

	if (r < 0)
		return r;
	slot = (struct stream_slot *)queue_take(&stream->reads);
	slot->path = strdup(entry->path);
	slot->link = entry->link ? strdup(entry->link) : NULL;
	if (!slot->path || (entry->link && !slot->link)) {
		stream_give(slot);
		return error_no_memory(err);
	}
	slot->inode = *entry->inode;
	slot->failure = (struct error){ 0 };
	slot->result = 0;
	*ret = slot;
	return 0;
}

/* Adds the slot to the ring and begins to read its range. */
static void stream_read(struct stream *stream, struct stream_slot *slot, uint64_t offset, uint64_t size)
{
	slot->size = size;
	stream->slots[(stream->first + stream->used++) % STREAM_SLOTS] = slot;
	if (!size)
		return;
	slot->read.op.request = (struct read_request){ .version.index = stream->setup.index,
						       .inode = slot->inode,
						       .offset = offset,
						       .size = size,
						       .payload = queue_payload(&slot->read),
						       .room = READ_MAX };
	queue_read(&slot->read);
}

/* A position in the file that is being added. */
struct stream_range {
	uint64_t begin, end; /* to be read */
	uint64_t data_end;   /* where the current run of data ends: cached, as looking it up may take a while */
};

/* Moves on to the next range of data; if there is none, to an empty range at the end of the file. Ranges end at
 * multiples of the largest read, so reads cover whole chunks. */
static int stream_find(struct stream *stream, const struct inode *inode, struct stream_range *range,
			  struct error *err)
{
	int64_t begin = (int64_t)range->end, end = (int64_t)range->data_end;

	if (range->end >= range->data_end) {
		begin = extent_seek(stream->setup.index, inode, range->end, false, err);
		if (begin == -ENXIO) {
			range->begin = range->end = inode->size;
			return 0;
		}
		end = begin < 0 ? begin : extent_seek(stream->setup.index, inode, (uint64_t)begin, true, err);
	}
	if (end < 0)
		return (int)end;
	range->begin = (uint64_t)begin;
	range->data_end = (uint64_t)end;
	range->end = (range->begin / READ_MAX + 1) * READ_MAX;
	if (range->data_end < range->end)
		range->end = range->data_end;
	return 0;
}

int stream_add(struct stream *stream, const struct stream_entry *entry, struct error *err)
{
	uint64_t size = S_ISREG(entry->inode->mode) && !entry->link ? entry->inode->size : 0, at;
	struct stream_range range = { 0 };
	struct stream_slot *slot = NULL;
	int r;

	do {
		at = range.end;
		r = stream_next(stream, entry, &slot, err);
		if (r < 0)
			return r;
		if (at < size)
			r = stream_find(stream, entry->inode, &range, err);
		if (r < 0) {
			stream_give(slot);
			return r;
		}
		slot->is_head = at == 0;
		slot->is_end = range.end >= size;
		slot->hole = range.begin - at;
		stream_read(stream, slot, range.begin, range.end - range.begin);
	} while (range.end < size);
	return 0;
}
