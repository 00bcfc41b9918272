/* SPDX-License-Identifier: MIT */
/* Threads take runs of neighbouring chunks from the window in turn: the volume is read in address order. */
#include "verify/check.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/huge.h"
#include "image/address.h"
#include "image/codec.h"

#define CHECK_READ (2u << 20)  /* bytes of one read; a chunk is at most half of it */
#define CHECK_GAP  (64u << 10) /* unwanted bytes that are read over rather than skipped */
#define CHECK_PROGRESS_STEP INT64_C(200000000) /* nanoseconds between two calls of progress */

_Static_assert(CHECK_READ >= (1u << DSFS_CHUNK_LOG_MAX) + 2 * DSFS_BLOCK, "a chunk must fit in a read");

struct check {
	const struct check_setup *setup;
	const struct plan *plan;
	struct check_counts *counts;
	pthread_mutex_t lock; /* guards what follows, and *counts */
	size_t next;          /* first item that no thread has taken */
	struct error err;     /* the first failure that ends the check */
	int64_t shown;        /* when progress was called last, by clock_now() */
};

struct check_worker {
	struct check *check;
	struct codec *codec;
	uint8_t *stored;            /* CHECK_READ bytes */
	uint8_t *content;           /* one chunk */
	struct fine_view *rows;
	struct check_counts counts; /* of one run */
};

struct check_run {
	const struct item *items;
	size_t count;
	uint32_t member;
	uint64_t start, end; /* byte range that is read, whole blocks */
};

/* Neighbours on the same member while they fit in one read. */
static void check_gather(const struct item *items, size_t left, struct check_run *ret)
{
	const struct chunk *first = &items[0].chunk;
	uint64_t start, end;

	ret->items = items;
	ret->member = address_member(first->address);
	ret->start = round_down(address_offset(first->address), DSFS_BLOCK);
	ret->end = round_up(address_offset(first->address) + first->stored, DSFS_BLOCK);
	for (ret->count = 1; ret->count < left; ret->count++) {
		const struct chunk *chunk = &items[ret->count].chunk;

		start = address_offset(chunk->address);
		end = round_up(start + chunk->stored, DSFS_BLOCK);
		if (address_member(chunk->address) != ret->member || start > ret->end + CHECK_GAP ||
		    end > ret->start + CHECK_READ)
			break;
		if (end > ret->end)
			ret->end = end;
	}
}

/* False when nothing is left, or another thread has failed. */
static bool check_take(struct check_worker *worker, struct check_run *ret)
{
	struct check *check = worker->check;
	const struct check_setup *setup = check->setup;
	bool taken = false;

	pthread_mutex_lock(&check->lock);
	check->counts->chunks += worker->counts.chunks;
	check->counts->references += worker->counts.references;
	check->counts->bytes += worker->counts.bytes;
	check->counts->unsteady += worker->counts.unsteady;
	worker->counts = (struct check_counts){ 0 };
	if (!check->err.code && check->next < check->plan->count) {
		check_gather(&check->plan->items[check->next], check->plan->count - check->next, ret);
		check->next += ret->count;
		taken = true;
	}
	if (setup->progress && clock_now() - check->shown >= CHECK_PROGRESS_STEP) {
		check->shown = clock_now();
		setup->progress(setup->argument, check->counts);
	}
	pthread_mutex_unlock(&check->lock);
	return taken;
}

static void check_fail(struct check *check, const struct error *err)
{
	pthread_mutex_lock(&check->lock);
	if (!check->err.code)
		check->err = *err;
	pthread_mutex_unlock(&check->lock);
}

/* Exactly the chunk's bytes: they may be readable where the blocks around them are not. */
static int check_alone(struct check_worker *worker, const struct item *item, uint8_t *buffer,
		       struct error *err)
{
	struct source *source = worker->check->setup->source;
	const struct chunk *chunk = &item->chunk;
	int r;

	r = source_read(source, address_member(chunk->address), address_offset(chunk->address), buffer,
			chunk->stored, err);
	if (r < 0)
		return r;
	return chunk_decode(chunk, worker->codec, buffer, worker->content, err);
}

/* What was wrong in the large read is read once more alone: damage is what stays wrong. The large read's
 * bytes are needed by the chunks that follow, so this read has a buffer of its own. */
static bool check_again(struct check_worker *worker, const struct item *item, bool was_read)
{
	auto_free uint8_t *buffer = huge_alloc(CHECK_READ);
	struct error err = { 0 };
	int r;

	r = buffer ? check_alone(worker, item, buffer, &err) :
		     error_set(&err, -ENOMEM, "no memory to read again");
	if (r == 0)
		worker->counts.unsteady += was_read;
	else if (error_is_damage(r))
		damage_add(worker->check->setup->damage, item, &err);
	else
		check_fail(worker->check, &err);
	return r == 0;
}

/* The chunk is right, and in worker->content: are its fine sums? */
static void check_row(struct check_worker *worker, const struct item *item)
{
	struct iovec content = { worker->content, item->chunk.length };
	struct error err = { 0 };
	const le64 *row = NULL;
	int r;

	r = fine_view_row(worker->rows, item->chunk.number, &row, &err);
	if (r > 0)
		r = fine_verify(row, &content, 1, &err);
	if (error_is_damage(r))
		damage_add(worker->check->setup->damage, item, &err);
	else if (r < 0)
		check_fail(worker->check, &err);
}

static void check_inline(struct check_worker *worker, const struct item *item)
{
	const struct index *index = worker->check->setup->index;
	struct error err = { 0 };

	if (chunk_decode(&item->chunk, worker->codec, chunk_inline_bytes(index, &item->chunk),
			 worker->content, &err) < 0)
		damage_add(worker->check->setup->damage, item, &err);
}

static void check_one(struct check_worker *worker, const struct check_run *run, const struct item *item,
		      bool was_read)
{
	const struct chunk *chunk = &item->chunk;
	uint64_t offset = address_offset(chunk->address);
	bool right;

	worker->counts.chunks += !item->again;
	worker->counts.references += item->shared;
	worker->counts.bytes += item->again ? 0 : chunk->stored;
	if (chunk_is_inline(chunk)) {
		check_inline(worker, item);
		return;
	}
	was_read = was_read && offset + chunk->stored <= run->end;
	right = was_read && chunk_decode(chunk, worker->codec, worker->stored + (offset - run->start), worker->content,
					 NULL) == 0;
	if (!right)
		right = check_again(worker, item, was_read);
	if (right && item->row)
		check_row(worker, item);
}

static void check_run(struct check_worker *worker, struct check_run *run)
{
	struct source *source = worker->check->setup->source;
	uint64_t size = source_size(source, run->member);
	bool was_read = false;

	if (run->end > size) /* a device need not end at a whole block */
		run->end = size;
	if (run->member != DSFS_IN_INDEX && run->start < run->end)
		was_read = source_read(source, run->member, run->start, worker->stored, run->end - run->start,
				       NULL) == 0;
	for (size_t i = 0; i < run->count; i++)
		check_one(worker, run, &run->items[i], was_read);
}

static void *check_work(void *argument)
{
	struct check *check = argument;
	struct check_worker worker = { .check = check, .codec = codec_new() };
	auto_free uint8_t *stored = huge_alloc(CHECK_READ);
	auto_free uint8_t *content = aligned_alloc(DSFS_BLOCK, 1u << DSFS_CHUNK_LOG_MAX);
	struct check_run run = { 0 };
	struct error err = { 0 };

	worker.stored = stored;
	worker.content = content;
	if (!worker.codec || !stored || !content ||
	    fine_view_new(check->setup->fine, check->setup->source, &worker.rows, &err) < 0) {
		error_set(&err, -ENOMEM, "no memory for a thread's buffers, try fewer --jobs");
		check_fail(check, &err);
	}
	while (check_take(&worker, &run))
		check_run(&worker, &run);
	fine_view_free(worker.rows);
	codec_free(worker.codec);
	return NULL;
}

int check_window(const struct check_setup *setup, const struct plan *plan, struct check_counts *counts,
		 struct error *err)
{
	struct check check = {
		.setup = setup,
		.plan = plan,
		.counts = counts,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.shown = clock_now(),
	};
	pthread_t threads[CHECK_JOBS_MAX];
	unsigned started = 0;

	/* This thread works as well; with fewer threads than asked for it only takes longer. */
	while (started + 1 < setup->jobs && started < CHECK_JOBS_MAX &&
	       pthread_create(&threads[started], NULL, check_work, &check) == 0)
		started++;
	check_work(&check);
	while (started)
		pthread_join(threads[--started], NULL);
	pthread_mutex_destroy(&check.lock);
	return check.err.code ? error_set(err, check.err.code, "%s", check.err.reason) : 0;
}
