/* SPDX-License-Identifier: MIT */
/* Checks runs of neighbouring chunks in a window; threads take turns. They read the volume in address order, each run
 * with one request to src/read, which reads wrong bytes once more, and names the chunks that stay wrong. */
#include "verify/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/members/address.h"
#include "io/pace.h"
#include "read/queue.h"
#include "read/run.h"
#include "verify/copies.h"
#include "verify/turns.h"

#define CHECK_GAP (64u << 10) /* unwanted bytes that are read over rather than skipped */

struct check {
	const struct check_setup *setup;
	const struct item *items;
	struct turns turns; /* at the items; the lock also guards *counts */
	struct check_counts *counts;
};

struct check_run {
	const struct item *items;
	size_t count;
};

/* A worker's one read. */
struct check_slot {
	struct queue_slot read; /* must be the first field */
	struct check_worker *worker;
	struct check_run run; /* that it reads */
	struct chunk chunks[READ_PIECES];
	bool is_bad[READ_PIECES]; /* of the items: the chunk is damaged */
	int64_t result;
};

struct check_worker {
	struct check *check;
	struct queue queue;
	struct reader_counters reads;
	struct check_slot *slot;
	uint32_t copy; /* as in read_request */
	struct copies_source sources[DSFS_COPIES_MAX]; /* of rows: one for each copy of the pages */
	struct block_sums_view *rows[DSFS_COPIES_MAX];
	struct check_counts counts; /* of one run */
};

/* Gathers a run for one request: items as long as their chunks fit. */
static void check_gather(const struct item *items, size_t left, struct check_run *ret)
{
	struct run run = { .gap = CHECK_GAP };

	ret->items = items;
	for (ret->count = 0; ret->count < left && ret->count < READ_PIECES; ret->count++)
		if ((ret->count == 0 || !items[ret->count].again) && !run_add(&run, &items[ret->count].chunk))
			break;
}

/* Adds the counts of the last run and takes the next one. False: nothing is left, or a thread has failed. */
static bool check_take(struct check_worker *worker, struct check_run *ret)
{
	struct check *check = worker->check;
	const struct check_setup *setup = check->setup;
	struct turns *turns = &check->turns;
	bool is_left = turns_begin(turns);

	check->counts->chunks += worker->counts.chunks;
	check->counts->references += worker->counts.references;
	check->counts->bytes += worker->counts.bytes;
	check->counts->transient += worker->counts.transient;
	worker->counts = (struct check_counts){ 0 };
	if (is_left)
		check_gather(&check->items[turns->next], turns->end - turns->next, ret);
	if (setup->progress && turns_show(turns))
		setup->progress(setup->argument, check->counts);
	turns_end(turns, is_left ? ret->count : 0);
	return is_left;
}

/* --- judging --- */

/* Adds damage, at the place of the copy that was read; another failure ends the check. */
static void check_damaged(struct check_worker *worker, const struct item *item, const struct error *err)
{
	uint64_t copies[DSFS_COPIES_MAX];
	struct item damaged = *item;

	if (!error_is_damage(err->code)) {
		turns_fail(&worker->check->turns, UINT64_MAX, err);
		return;
	}
	if (worker->copy > 1) {
		(void)members_copies(&worker->check->setup->index->members, item->chunk.address, copies);
		damaged.chunk.address = copies[worker->copy - 1];
	}
	damage_add(worker->check->setup->damage, &damaged, err);
}

/* Called for each chunk that cannot be read or is wrong. */
static void check_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	struct check_slot *slot = (struct check_slot *)op;
	const struct item bad = { .chunk = *chunk };

	for (size_t i = 0; i < slot->run.count; i++) {
		if (slot->is_bad[i] || item_compare_bytes(&slot->run.items[i], &bad) != 0)
			continue;
		slot->is_bad[i] = true;
		check_damaged(slot->worker, &slot->run.items[i], err);
	}
}

/* Checks the block checksums of a chunk that is right, against its content. */
static void check_row(struct check_worker *worker, const struct item *item, uint8_t *bytes)
{
	struct iovec content = { bytes, item->chunk.length };
	struct error err = { 0 };
	const uint8_t *row = NULL;
	int r = -EBADMSG;

	for (unsigned i = 0; r < 0 && i < DSFS_COPIES_MAX && worker->rows[i]; i++)
		r = block_sums_view_row(worker->rows[i], item->chunk.number, &row, &err);
	if (r > 0)
		r = sum_check_blocks(&item->chunk.sum, item->chunk.length, row, 0, &content, 1, &err);
	if (r < 0)
		check_damaged(worker, item, &err);
}

static void check_rows(struct check_worker *worker, const struct check_run *run)
{
	const struct check_slot *slot = worker->slot;
	uint8_t *content = queue_payload(&slot->read);

	for (size_t i = 0; i < run->count; i++) {
		if (i > 0 && !run->items[i].again)
			content += run->items[i - 1].chunk.length;
		if (run->items[i].row && !slot->is_bad[i])
			check_row(worker, &run->items[i], content);
	}
}

/* --- reading --- */

static void check_done(struct queue_slot *slot, int64_t result)
{
	((struct check_slot *)slot)->result = result;
}

/* Reads the distinct chunks of the run, one after the other, into the payload. */
static void check_read(struct check_worker *worker, const struct check_run *run)
{
	const struct array_source *volume = worker->check->setup->volume;
	struct check_slot *slot = worker->slot;
	struct run list = { .chunks = slot->chunks, .gap = CHECK_GAP };
	int64_t begun;

	slot->run = *run;
	memset(slot->is_bad, 0, sizeof(slot->is_bad));
	for (size_t i = 0; i < run->count; i++)
		if (i == 0 || !run->items[i].again)
			(void)run_add(&list, &run->items[i].chunk);
	slot->read.op.request = (struct read_request){ .version.index = worker->check->setup->index,
						       .chunks = slot->chunks,
						       .chunk_count = list.count,
						       .gap = list.gap,
						       .payload = queue_payload(&slot->read),
						       .room = READ_MAX,
						       .copy = worker->copy };
	begun = list.stored ? pace_begin(volume->pace, list.stored) : 0;
	queue_read(&slot->read); /* returns when it is done: the engine reads in this thread */
	pace_end(volume->pace, address_member(list.end), list.stored, begun, slot->result);
}

static void check_part(struct check_worker *worker, const struct check_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		worker->counts.bytes += run->items[i].again ? 0 : run->items[i].chunk.stored;
	check_read(worker, run);
	worker->counts.transient += worker->slot->read.op.unsteady;
	check_rows(worker, run);
}

static bool check_has_copy(const struct check_worker *worker, const struct item *item, uint32_t copy)
{
	uint64_t copies[DSFS_COPIES_MAX];

	return members_copies(&worker->check->setup->index->members, item->chunk.address, copies) >= copy;
}

/* Checks this copy of the run's chunks, in parts whose chunks all have it. False: no chunk has it. */
static bool check_copy(struct check_worker *worker, const struct check_run *run, uint32_t copy)
{
	bool any = false;
	struct check_run part;

	worker->copy = copy;
	for (size_t i = 0; i < run->count; i += part.count + !part.count) {
		part = (struct check_run){ .items = &run->items[i] };
		while (i + part.count < run->count && check_has_copy(worker, &part.items[part.count], copy))
			part.count++;
		if (part.count)
			check_part(worker, &part);
		any = any || part.count;
	}
	return any;
}

static void check_run(struct check_worker *worker, const struct check_run *run)
{
	bool has_members = worker->check->setup->index->members.count;

	for (size_t i = 0; i < run->count; i++) {
		worker->counts.chunks += !run->items[i].again;
		worker->counts.references += run->items[i].shared;
	}
	worker->copy = has_members;
	check_part(worker, run);
	for (uint32_t copy = 2; has_members && check_copy(worker, run, copy); copy++)
		continue;
}

/* --- threads --- */

static int check_open_rows(struct check_worker *worker, struct error *err)
{
	const struct check_setup *setup = worker->check->setup;
	uint32_t count = setup->index->members.count ? DSFS_COPIES_MAX : 1;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < count; i++) {
		copies_source_init(&worker->sources[i], &setup->volume->source, &setup->index->members, i);
		r = block_sums_view_new(setup->block_sums, &worker->sources[i].source, &worker->rows[i], err);
	}
	return r;
}

static int check_open(struct check_worker *worker, struct error *err)
{
	static const struct reader_options options = { .verify = true };
	static const struct reader_events events = { .failed = check_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct check_slot), .events = &events,
						    .done = check_done };
	const struct array_source *volume = worker->check->setup->volume;
	const struct queue_setup setup = { .client = &client,
					   .reader = { .options = &options, .geometry = volume->geometry,
						       .counters = &worker->reads },
					   .depth = 1, .has_payloads = true, .is_huge = true };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = volume->fds,
					     .member_count = volume->count, .depth = 1 };
	int r = queue_open(&worker->queue, &setup, err);

	if (r == 0)
		r = queue_start(&worker->queue, &engine, pool_new, NULL, err);
	if (r < 0)
		return r;
	worker->slot = (struct check_slot *)queue_take(&worker->queue);
	worker->slot->worker = worker;
	return check_open_rows(worker, err);
}

static void check_close(struct check_worker *worker)
{
	for (unsigned i = 0; i < DSFS_COPIES_MAX; i++)
		block_sums_view_free(worker->rows[i]);
	queue_close(&worker->queue);
	free(worker);
}

static void check_work(void *argument)
{
	struct check *check = argument;
	struct check_worker *worker = calloc(1, sizeof(*worker));
	struct check_run run = { 0 };
	struct error err = { 0 };
	int r = worker ? 0 : error_no_memory(&err);

	if (worker) {
		worker->check = check;
		r = check_open(worker, &err);
	}
	if (r < 0)
		turns_fail(&check->turns, UINT64_MAX, &err);
	while (r == 0 && check_take(worker, &run))
		check_run(worker, &run);
	if (worker)
		check_close(worker);
}

int check_window(const struct check_setup *setup, const struct item *items, size_t count,
		 struct check_counts *counts, struct error *err)
{
	struct check check = { .setup = setup, .items = items, .turns.end = count, .counts = counts };

	return turns_share(&check.turns, setup->jobs, check_work, &check, err);
}
