/* SPDX-License-Identifier: MIT */
/* Keeps a ring of slots that one thread fills and writes in order. A slot is the header of an entry, a range of its
 * bytes, or both: a small file takes one. Reads of all slots run in parallel, and each read verifies its bytes. */
#include "export/tar_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/program/interrupt.h"
#include "base/program/progress.h"
#include "image/extent.h"
#include "read/queue.h"

#define TAR_QUEUE_SLOTS 16u

struct tar_queue_slot {
	struct queue_slot read; /* must be the first field */
	char *path, *link; /* of the entry */
	bool is_head;
	struct inode inode;
	uint64_t hole; /* zeros before the bytes */
	size_t size;   /* length of the range; 0: there is nothing to read */
	int64_t result;
	struct error failure; /* of the read */
};

struct tar_queue {
	struct tar_queue_setup setup;
	struct queue reads;
	struct reader_counters counters;
	struct tar_queue_slot *slots[TAR_QUEUE_SLOTS]; /* a ring, in the order of the archive */
	unsigned first, used;
};

/* ---- reading ---- */

static void tar_queue_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	(void)chunk;
	((struct tar_queue_slot *)op)->failure = *err;
}

static void tar_queue_done(struct queue_slot *slot, int64_t result)
{
	((struct tar_queue_slot *)slot)->result = result;
}

static int tar_queue_open_reads(struct tar_queue *queue, struct error *err)
{
	static const struct reader_options options = { .verify = true };
	static const struct reader_events events = { .failed = tar_queue_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct tar_queue_slot), .events = &events,
						    .done = tar_queue_done };
	const struct array_source *array = queue->setup.array;
	const struct queue_setup setup = { .client = &client,
					   .reader = { .options = &options, .geometry = array->geometry,
						       .counters = &queue->counters },
					   .depth = TAR_QUEUE_SLOTS, .has_payloads = true, .is_huge = true };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = array->fds,
					     .member_count = array->count, .depth = TAR_QUEUE_SLOTS * READ_RANGES };
	int r = queue_open(&queue->reads, &setup, err);

	return r < 0 ? r : queue_start(&queue->reads, &engine, ring_new, sync_new, err);
}

int tar_queue_open(const struct tar_queue_setup *setup, struct tar_queue **ret, struct error *err)
{
	struct tar_queue *queue = calloc(1, sizeof(*queue));
	int r;

	if (!queue)
		return error_no_memory(err);
	queue->setup = *setup;
	r = tar_queue_open_reads(queue, err);
	if (r < 0) {
		tar_queue_close(queue);
		return r;
	}
	*ret = queue;
	return 0;
}

/* ---- slots ---- */

static void tar_queue_give(struct tar_queue_slot *slot)
{
	free(slot->path);
	free(slot->link);
	slot->path = slot->link = NULL;
	queue_give(&slot->read);
}

static void tar_queue_give_first(struct tar_queue *queue)
{
	tar_queue_give(queue->slots[queue->first]);
	queue->first = (queue->first + 1) % TAR_QUEUE_SLOTS;
	queue->used--;
}

void tar_queue_close(struct tar_queue *queue)
{
	if (!queue)
		return;
	if (queue_drain(&queue->reads, NULL) < 0)
		return; /* the device may still write to their memory */
	while (queue->used)
		tar_queue_give_first(queue);
	queue_close(&queue->reads);
	free(queue);
}

/* ---- writing ---- */

static int tar_queue_write_slot(struct tar_queue *queue, struct tar_queue_slot *slot, struct error *err)
{
	const struct tar_write_entry entry = { .path = slot->path, .link = slot->link, .inode = &slot->inode };
	struct tar_write *tar = queue->setup.tar;
	int r = queue_finish(&slot->read, err);

	if (r == 0 && slot->result < 0)
		r = error_pass(err, slot->failure.code ? slot->failure.code : (int)slot->result, &slot->failure);
	else if (r == 0 && (size_t)slot->result != slot->size)
		r = error_set(err, -EIO, "%lld bytes were read, expected %zu", (long long)slot->result, slot->size);
	if (r < 0)
		return error_wrap(err, r, "'%s'", slot->path);
	if (slot->is_head)
		r = tar_write_head(tar, &entry, err);
	if (r == 0)
		r = tar_write_hole(tar, slot->hole, err);
	if (r == 0)
		r = tar_write_data(tar, queue_payload(&slot->read), slot->size, err);
	progress_add(queue->setup.progress, slot->is_head, slot->hole + slot->size);
	return r;
}

/* Writes the oldest slot to the archive. */
static int tar_queue_take(struct tar_queue *queue, struct error *err)
{
	int r = interrupt_check(err);

	if (r == 0) /* starts the reads that were added, while this slot is written */
		r = queue_wait(&queue->reads, 0, err);
	if (r == 0)
		r = tar_queue_write_slot(queue, queue->slots[queue->first], err);
	if (r == 0)
		tar_queue_give_first(queue);
	return r;
}

int tar_queue_flush(struct tar_queue *queue, struct error *err)
{
	int r = 0;

	while (r == 0 && queue->used)
		r = tar_queue_take(queue, err);
	return r;
}

/* Takes a slot and copies the names of the entry to it; the caller adds the content. */
static int tar_queue_next(struct tar_queue *queue, const struct tar_write_entry *entry, struct tar_queue_slot **ret,
			  struct error *err)
{
	struct tar_queue_slot *slot;
	int r = queue_has_room(&queue->reads) ? 0 : tar_queue_take(queue, err);

	if (r < 0)
		return r;
	slot = (struct tar_queue_slot *)queue_take(&queue->reads);
	slot->path = strdup(entry->path);
	slot->link = entry->link ? strdup(entry->link) : NULL;
	if (!slot->path || (entry->link && !slot->link)) {
		tar_queue_give(slot);
		return error_no_memory(err);
	}
	slot->inode = *entry->inode;
	slot->failure = (struct error){ 0 };
	slot->result = 0;
	*ret = slot;
	return 0;
}

/* Adds the slot to the archive and begins to read its range. */
static void tar_queue_read(struct tar_queue *queue, struct tar_queue_slot *slot, uint64_t offset, uint64_t size)
{
	slot->size = size;
	queue->slots[(queue->first + queue->used++) % TAR_QUEUE_SLOTS] = slot;
	if (!size)
		return;
	slot->read.op.request = (struct read_request){ .version.index = queue->setup.index,
						       .inode = slot->inode,
						       .offset = offset,
						       .size = size,
						       .payload = queue_payload(&slot->read),
						       .room = READ_MAX };
	queue_read(&slot->read);
}

/* A position in the file that is being added. */
struct tar_queue_range {
	uint64_t begin, end; /* to be read */
	uint64_t data_end;   /* where the current run of data ends: cached, as looking it up may take a while */
};

/* Moves on to the next range of data; if there is none, to an empty range at the end of the file. Ranges end at
 * multiples of the largest read, so reads cover whole chunks. */
static int tar_queue_find(struct tar_queue *queue, const struct inode *inode, struct tar_queue_range *range,
			  struct error *err)
{
	int64_t begin = (int64_t)range->end, end = (int64_t)range->data_end;

	if (range->end >= range->data_end) {
		begin = extent_seek(queue->setup.index, inode, range->end, false, err);
		if (begin == -ENXIO) {
			range->begin = range->end = inode->size;
			return 0;
		}
		end = begin < 0 ? begin : extent_seek(queue->setup.index, inode, (uint64_t)begin, true, err);
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

int tar_queue_add(struct tar_queue *queue, const struct tar_write_entry *entry, struct error *err)
{
	uint64_t size = S_ISREG(entry->inode->mode) && !entry->link ? entry->inode->size : 0, at;
	struct tar_queue_range range = { 0 };
	struct tar_queue_slot *slot = NULL;
	int r;

	do {
		at = range.end;
		r = tar_queue_next(queue, entry, &slot, err);
		if (r < 0)
			return r;
		if (at < size)
			r = tar_queue_find(queue, entry->inode, &range, err);
		if (r < 0) {
			tar_queue_give(slot);
			return r;
		}
		slot->is_head = at == 0;
		slot->hole = range.begin - at;
		tar_queue_read(queue, slot, range.begin, range.end - range.begin);
	} while (range.end < size);
	return 0;
}
