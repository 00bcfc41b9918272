/* SPDX-License-Identifier: MIT */
/* Reads files together, as for reading ahead. A damaged file does not keep others out of the cache. */
#include "serve/cache/legs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "serve/readahead/pick.h"
#include "serve/version/generation.h"

struct legs_slot {
	struct queue_slot read; /* must be the first field */
	struct legs *legs;
	const struct generation *generation;
	struct run run;
	struct chunk chunks[READ_PIECES]; /* of the run */
	uint64_t ordinals[READ_PIECES];
	uint32_t count, failed; /* count: without those that failed */
};

/* ---- what came of a leg ---- */

/* Remembers the first file that cannot be read. */
static void legs_blame(struct legs *legs, uint64_t ordinal, const struct error *why)
{
	legs->failed++;
	if (legs->why.code)
		return;
	legs->first = ordinal;
	legs->why = *why;
}

/* Called for each chunk that cannot be read. Its files are no longer files of the leg. */
static void legs_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	struct legs_slot *slot = (struct legs_slot *)op;
	uint32_t left = 0;

	for (uint32_t i = 0; i < slot->count; i++) {
		if (!run_has(slot->run.index, slot->ordinals[i], chunk)) {
			slot->ordinals[left++] = slot->ordinals[i];
			continue;
		}
		slot->failed++;
		legs_blame(slot->legs, slot->ordinals[i], err);
	}
	slot->count = left;
}

static void legs_done(struct queue_slot *read, int64_t result)
{
	const struct legs_slot *slot = (const struct legs_slot *)read;
	struct legs *legs = slot->legs;

	queue_give(read);
	if (result < 0)
		return;
	legs->files += slot->count;
	legs->bytes += (uint64_t)result;
	legs->failures = slot->count ? 0 : legs->failures + slot->failed;
}

/* Leaves a leg that is stuck at a member to it; the next pass reads its files from another one. */
static void legs_stuck(struct queue_slot *read)
{
	((struct legs_slot *)read)->legs->was_left = true;
	queue_leave(read);
}

/* Notes damage only while `goes_on`, as a thread that was left behind may outlive the list. */
static void legs_copy_wrong(struct read_op *op, const struct reader_place *place, const struct error *err)
{
	const struct legs_slot *slot = (const struct legs_slot *)op;

	if (atomic_load(&slot->legs->goes_on))
		serve_note_damage(slot->legs->serve, place, slot->generation, err);
}

static const struct reader_events legs_events = {
	.failed = legs_failed,
	.copy_wrong = legs_copy_wrong,
};

static const struct queue_client legs_client = {
	.slot_size = sizeof(struct legs_slot),
	.events = &legs_events,
	.done = legs_done,
	.stuck = legs_stuck,
};

/* ---- the next leg ---- */

static bool legs_add(struct legs_slot *slot, uint64_t ordinal)
{
	struct inode inode;

	if (slot->count == READ_PIECES || inode_get(slot->run.index, ordinal, &inode, NULL) < 0 ||
	    !run_add_file(&slot->run, &inode))
		return false;
	slot->ordinals[slot->count++] = ordinal;
	return true;
}

static void legs_start(struct legs_slot *slot)
{
	slot->read.op.request = (struct read_request){ .version = generation_read(slot->generation),
						       .chunks = slot->chunks,
						       .chunk_count = slot->run.count,
						       .gap = PICK_GAP,
						       .payload = queue_payload(&slot->read),
						       .room = READ_MAX,
						       .is_ahead = true,
						       .wanted = &slot->legs->wanted };
	queue_read(&slot->read);
}

/* A file that does not even fit alone has records that are wrong. */
size_t legs_read(struct legs *legs, const struct legs_file *files, size_t count)
{
	struct legs_slot *slot = (struct legs_slot *)queue_take(&legs->queue);
	struct error err = { 0 };

	slot->legs = legs;
	slot->generation = legs->generation;
	slot->count = slot->failed = 0;
	slot->run = (struct run){ .index = legs->generation->opened.index, .chunks = slot->chunks, .gap = PICK_GAP };
	while (slot->count < count && legs_add(slot, files[slot->count].ordinal))
		continue;
	if (slot->count) {
		count = slot->count; /* the read may end while it begins */
		legs_start(slot);
		return count;
	}
	queue_give(&slot->read);
	error_set(&err, -EBADMSG, "its records are damaged");
	legs_blame(legs, files[0].ordinal, &err);
	return 1;
}

/* ---- waiting ---- */

static void legs_woken(void *argument)
{
	wake_take(((struct legs *)argument)->wake);
}

void legs_wait(struct legs *legs, int64_t limit)
{
	struct error err = { 0 };

	if (!legs->queue.reading && !legs->queue.left) {
		wake_wait(legs->wake, (int)(limit / 1000000) + 1);
	} else if (queue_wait(&legs->queue, limit, &err) < 0) {
		log_error(&err, "cannot wait for reads that fill the cache");
		abort(); /* the device would write to freed memory */
	}
}

void legs_cancel(struct legs *legs)
{
	atomic_store(&legs->wanted, 0);
}

void legs_renew(struct legs *legs)
{
	if (legs->is_open)
		engine_renew(legs->queue.reader.engine);
}

/* ---- set-up and end ---- */

static int legs_open_queue(struct legs *legs, struct counters *counters, struct error *err)
{
	const struct serve *serve = legs->serve;
	const struct array_source *array = serve->volume.array;
	const struct queue_setup setup = { .client = &legs_client,
					   .reader = { .options = &legs->options,
						       .geometry = legs->geometry,
						       .route = serve->volume.route,
						       .window = serve->volume.window,
						       .cached = serve->cached,
						       .keeps = true,
						       .class = WINDOW_BACKGROUND,
						       .counters = &counters->read },
					   .depth = LEGS_MOST,
					   .has_payloads = true,
					   .is_huge = true };

	legs->options = (struct reader_options){ .verify = serve->options.read.verify };
	memcpy(legs->geometry, array->geometry, array->count * sizeof(*legs->geometry));
	return queue_open(&legs->queue, &setup, err);
}

int legs_open(struct legs *legs, struct counters *counters, struct error *err)
{
	const struct serve *serve = legs->serve;
	struct engine_setup setup = { .poll_fd = -1,
				      .wake = legs->wake->fd,
				      .woken = legs_woken,
				      .woken_argument = legs,
				      .volume_fds = serve->volume.array->fds,
				      .member_count = serve->volume.array->fd_count,
				      .depth = LEGS_MOST * READ_RANGES };
	int r = legs->is_open ? 0 : legs_open_queue(legs, counters, err);

	if (r < 0 || legs->is_open)
		return r;
	legs->queue.watches = true;
	r = queue_start(&legs->queue, &setup, serve->machine.uring ? ring_new : pool_new, NULL, err);
	if (r < 0)
		queue_close(&legs->queue);
	legs->is_open = r == 0;
	return r;
}

void legs_close(struct legs *legs)
{
	if (!legs->is_open || legs->queue.reading || legs->queue.left)
		return;
	queue_close(&legs->queue);
	legs->is_open = false;
}

void legs_begin_pass(struct legs *legs)
{
	legs->failed = legs->first = 0;
	legs->was_left = false;
	error_clear(&legs->why);
}

void legs_begin(struct legs *legs, const struct generation *generation)
{
	legs->generation = generation;
	atomic_store(&legs->wanted, 1);
	legs->files = legs->bytes = 0;
	legs->failures = 0;
	legs_begin_pass(legs);
}
