/* SPDX-License-Identifier: MIT */
/* Runs a queue of jobs on a thread with a queue of reads, a few at a time. */
#include "serve/readahead/fetcher.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/huge.h"
#include "base/list.h"
#include "base/log.h"
#include "base/program/headroom.h"
#include "base/thread/thread.h"
#include "fuse/store.h"
#include "read/queue.h"
#include "serve/damage.h"
#include "serve/readahead/allowance.h"
#include "serve/readahead/pick.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

#define FETCHER_STORE_MOST (128u << 10)      /* largest file that is stored, bytes: larger ones gain little by it */
#define FETCHER_KEEP   INT64_C(30000000000)  /* ns for which a file is kept */
#define FETCHER_PAUSE  INT64_C(1000000000)   /* ns without reads after the path to the device failed */
#define FETCHER_LOOK   (UINT64_C(32) << 20)  /* bytes read between two checks of free memory */
#define FETCHER_LOOK_AFTER INT64_C(1000000000) /* ns between two checks of free memory */
#define FETCHER_SHARE  4u                    /* files and reads get 1/FETCHER_SHARE of the free memory */
#define FETCHER_TURN 16u                   /* files stored between two checks for completed reads */
#define FETCHER_SKIP 8u                    /* files that a walker reads while we begin to store */
#define FETCHER_LATE 2u                    /* files that a walker reads before a read of them could complete */

struct fetcher_slot {
	struct queue_slot read; /* must be the first field */
	struct fetcher *fetcher;
	struct fetcher_job *job; /* goes on without the slot when that is left to a device */
	struct kept_batch *batch;
	struct run run;
	struct chunk chunks[READ_PIECES]; /* of the run */
	uint32_t failed; /* files of the batch that cannot be read */
	bool is_touched; /* its scratch may have memory */
};

/* The place from which kept files can be stored now. The thread that sets is_taken fills it in and then sets is_set. */
struct fetcher_again {
	_Atomic bool is_taken, is_set;
	struct generation *generation; /* pinned */
	uint64_t ordinal;
};

/* Jobs that wait; some reads of the first may have begun. */
struct fetcher_jobs {
	pthread_mutex_t lock; /* protects the fields below */
	struct fetcher_job *first, **end;
	unsigned count;
};

/* How much memory the fetcher may take, and the free memory at the last look. */
struct fetcher_memory {
	uint64_t most;           /* bytes that may ever be kept */
	_Atomic uint64_t budget; /* bytes that may be kept now */
	/* Thread only: */
	unsigned reads;    /* limit of busy batches, 1 at least */
	unsigned touched;  /* slots whose scratch may have memory */
	uint64_t looked;   /* bytes read until the last check of free memory */
	int64_t looked_at; /* time of that check, ns, monotonic; 0: none yet */
};

/* Batches that arrived and have files to store. Thread only. */
struct fetcher_stores {
	struct kept_batch *first, **end;
	uint64_t *owed; /* nodes whose READ is owed; room for all workers' slots */
	size_t owed_count;
};

struct fetcher {
	struct counters counters;
	struct serve *serve;
	struct kept *kept;
	struct thread thread;
	struct wake wake;
	sem_t started;   /* the thread posts it when has_engine is known */
	bool has_engine; /* the thread has its engine; false: it ended */
	bool is_stuck;   /* fetcher_stop() left the thread behind */
	_Atomic uint64_t going; /* 0: the thread must end, and reads end with their current round */
	_Atomic int64_t paused; /* no jobs are taken before this time, ns, monotonic */
	struct fetcher_jobs jobs;
	_Atomic bool renew, tick, leave; /* the reasons why the thread was woken, and again.is_set */
	struct fetcher_again again;
	struct fetcher_memory memory;
	/* Thread only: */
	struct reader_options options;
	struct file_geometry geometry[DSFS_MEMBER_MAX + 1]; /* copies: the thread may outlive the volume */
	struct queue queue;
	unsigned slot_count; /* constant, as are next and its owner */
	struct fetcher_job *(*next)(void *owner);
	void *owner;
	unsigned busy;    /* batches being read or waiting to be stored: nothing can free their memory */
	struct fetcher_stores stores;
};

/* ---- the queue ---- */

/* The caller holds the lock. */
static void fetcher_append(struct fetcher *fetcher, struct fetcher_job *job)
{
	list_append(fetcher->jobs.end, job, next);
	fetcher->jobs.count++;
}

bool fetcher_post(struct fetcher *fetcher, struct fetcher_job *job)
{
	struct generations *generations = &fetcher->serve->generations;
	bool posted = false;

	if (clock_now() < atomic_load(&fetcher->paused) || !generations_pin(job->generation))
		return false;
	pthread_mutex_lock(&fetcher->jobs.lock);
	if (fetcher->has_engine && fetcher->jobs.count < FETCHER_JOBS && atomic_load(&fetcher->going)) {
		fetcher_append(fetcher, job);
		posted = true;
	}
	pthread_mutex_unlock(&fetcher->jobs.lock);
	if (posted)
		wake_up(&fetcher->wake);
	else
		generations_unpin(generations, job->generation, false);
	return posted;
}

/* The job at the head of the queue, or NULL. It stays there until all its reads have begun. */
static struct fetcher_job *fetcher_peek(struct fetcher *fetcher)
{
	struct fetcher_job *job;

	pthread_mutex_lock(&fetcher->jobs.lock);
	job = fetcher->jobs.first;
	pthread_mutex_unlock(&fetcher->jobs.lock);
	if (job || !fetcher->next)
		return job;
	job = fetcher->next(fetcher->owner);
	if (!job)
		return NULL;
	pthread_mutex_lock(&fetcher->jobs.lock);
	fetcher_append(fetcher, job);
	job = fetcher->jobs.first;
	pthread_mutex_unlock(&fetcher->jobs.lock);
	return job;
}

static void fetcher_pop(struct fetcher *fetcher, const struct fetcher_job *job)
{
	pthread_mutex_lock(&fetcher->jobs.lock);
	fetcher->jobs.first = job->next;
	if (!fetcher->jobs.first)
		fetcher->jobs.end = &fetcher->jobs.first;
	fetcher->jobs.count--;
	pthread_mutex_unlock(&fetcher->jobs.lock);
}

/* Ends the job if all its files were read or skipped and none of its reads is pending. */
static void fetcher_settle(struct fetcher *fetcher, struct fetcher_job *job)
{
	struct generation *generation = job->generation;

	if (job->next_file < job->count || job->pending)
		return;
	job->done(job);
	generations_unpin(&fetcher->serve->generations, generation, false);
}

/* ---- a batch that has arrived ---- */

/* Collects the nodes whose READ may have begun before the fetch did, as a store would wait for its reply. */
static void fetcher_note_owed(struct fetcher *fetcher)
{
	const struct serve *serve = fetcher->serve;
	uint64_t node;

	fetcher->stores.owed_count = 0;
	for (unsigned i = 0; i < serve->worker_count; i++)
		for (size_t k = 0; k < serve->workers[i]->slots; k++) {
			node = atomic_load_explicit(&serve->workers[i]->reading[k], memory_order_relaxed);
			if (node)
				fetcher->stores.owed[fetcher->stores.owed_count++] = node;
		}
}

static bool fetcher_is_owed(const struct fetcher *fetcher, uint64_t node)
{
	for (size_t i = 0; i < fetcher->stores.owed_count; i++)
		if (fetcher->stores.owed[i] == node)
			return true;
	return false;
}

/* Stores a file if no other fetcher is storing. Otherwise two could wait for each other: each in a store, for the reply
 * to a READ that waits for a file which the other one reads. Returns 1 if it may not store. */
static int fetcher_store_alone(struct fetcher *fetcher, uint64_t node, const struct kept_file *file)
{
	_Atomic bool *storing = &fetcher->serve->storing;
	int r;

	if (!fetcher->serve->may_store || atomic_exchange(storing, true))
		return 1;
	r = store_notify(fetcher->serve->mount_fd, node, file->batch->bytes + file->offset, file->size);
	atomic_store(storing, false);
	return r;
}

/* Stores a file. Returns 0: the kernel has it; 1: it stays kept; -ENOENT: the same, as the kernel does not know its
 * node. */
static int fetcher_store_one(struct fetcher *fetcher, const struct generation *generation, struct kept_file *file)
{
	uint64_t node = generation_node(generation, file->ordinal), size = file->size;
	int r;

	if (atomic_load(&file->state) != KEPT_READY || file->is_marker || file->size > FETCHER_STORE_MOST ||
	    fetcher_is_owed(fetcher, node) || !atomic_load(&fetcher->going))
		return 1;
	r = fetcher_store_alone(fetcher, node, file);
	if (r)
		return r;
	kept_remove(fetcher->kept, file);
	counter_add(&fetcher->counters.ahead_stored, 1);
	counter_add(&fetcher->counters.files_served, 1);
	counter_add(&fetcher->counters.bytes_stored, size);
	return 0;
}

/* Stores a few files of the batch that arrived first, and then lets READs that wait for other batches have a turn. */
static void fetcher_store_some(struct fetcher *fetcher)
{
	struct kept_batch *batch = fetcher->stores.first;
	struct fetcher_job *job = batch->job;

	fetcher_note_owed(fetcher);
	for (unsigned i = 0; i < FETCHER_TURN && batch->next_file < batch->count; i++, batch->next_file++)
		job->stored += fetcher_store_one(fetcher, job->generation, &batch->files[batch->next_file]) == 0;
	if (batch->next_file < batch->count)
		return;
	fetcher->stores.first = batch->next_store;
	if (!fetcher->stores.first)
		fetcher->stores.end = &fetcher->stores.first;
	fetcher->busy--;
	kept_end(fetcher->kept, batch, false);
	job->pending--;
	fetcher_settle(fetcher, job);
}

static void fetcher_queue_store(struct fetcher *fetcher, struct kept_batch *batch, struct fetcher_job *job)
{
	batch->job = job;
	batch->next_file = 0;
	batch->next_store = NULL;
	*fetcher->stores.end = batch;
	fetcher->stores.end = &batch->next_store;
}

/* ---- files of a directory that the kernel did not know before ---- */

void fetcher_again(struct fetcher *fetcher, struct generation *generation, uint64_t ordinal)
{
	struct fetcher_again *again = &fetcher->again;

	if (atomic_exchange(&again->is_taken, true))
		return;
	if (!generations_pin(generation)) {
		atomic_store(&again->is_taken, false);
		return;
	}
	again->generation = generation;
	again->ordinal = ordinal;
	atomic_store(&again->is_set, true);
	wake_up(&fetcher->wake);
}

/* Stores kept files that the kernel knows by now, except those that the reader is about to ask for. */
static void fetcher_store_again(struct fetcher *fetcher)
{
	struct generation *generation = fetcher->again.generation;
	uint64_t ordinal = fetcher->again.ordinal + FETCHER_SKIP, last = ordinal + FETCHER_SKIP;
	struct kept_file *file;
	int r = 0;

	atomic_store(&fetcher->again.is_taken, false);
	fetcher_note_owed(fetcher);
	for (; ordinal <= last && r >= 0; ordinal++) {
		file = kept_pin(fetcher->kept, generation->key, ordinal);
		if (!file)
			continue;
		r = fetcher_store_one(fetcher, generation, file);
		kept_unpin(fetcher->kept, file);
		last = ordinal + FETCHER_SKIP;
	}
	generations_unpin(&fetcher->serve->generations, generation, false);
}

/* Publishes the files that were read. The others are left to their READs. */
static void fetcher_arrived(struct fetcher *fetcher, const struct fetcher_slot *slot, uint64_t bytes)
{
	kept_arrive(fetcher->kept, slot->batch);
	slot->job->fetched += slot->batch->count - slot->failed;
	slot->job->bytes += bytes;
	counter_add(&fetcher->counters.ahead_files, slot->batch->count - slot->failed);
	counter_add(&fetcher->counters.ahead_bytes, bytes);
	fetcher_queue_store(fetcher, slot->batch, slot->job);
}

static void fetcher_done(struct queue_slot *read, int64_t result)
{
	struct fetcher_slot *slot = (struct fetcher_slot *)read;
	struct fetcher *fetcher = slot->fetcher;

	queue_give(read);
	counter_add(&fetcher->counters.ahead_failures, result < 0 || slot->failed);
	if (result >= 0) {
		fetcher_arrived(fetcher, slot, (uint64_t)result);
		return;
	}
	fetcher->busy--;
	kept_end(fetcher->kept, slot->batch, true);
	slot->job->pending--;
	fetcher_settle(fetcher, slot->job);
}

/* Leaves a stuck read. The device has the slot and the batch until it completes the read. */
static void fetcher_stuck(struct queue_slot *read)
{
	struct fetcher_slot *slot = (struct fetcher_slot *)read;
	struct fetcher *fetcher = slot->fetcher;

	queue_leave(read);
	counter_add(&fetcher->counters.ahead_failures, 1);
	kept_give_up(fetcher->kept, slot->batch);
	slot->job->pending--;
	fetcher_settle(fetcher, slot->job);
	slot->job = NULL;
}

static void fetcher_let_go(struct queue_slot *read)
{
	const struct fetcher_slot *slot = (const struct fetcher_slot *)read;

	slot->fetcher->busy--;
	kept_end(slot->fetcher->kept, slot->batch, true);
}

/* ---- the next read ---- */

static bool fetcher_reserve(struct fetcher *fetcher, struct kept_batch *batch)
{
	uint64_t dropped = 0;
	int r = kept_reserve(fetcher->kept, batch, &dropped);

	counter_add(&fetcher->counters.ahead_dropped, dropped);
	return r == 0;
}

/* Whether the reader is past this file, or will be before a read of it could complete, as when many walk at once. */
static bool fetcher_is_late(const struct fetcher_job *job, uint64_t ordinal)
{
	return job->reader_at &&
	       ordinal <= atomic_load_explicit(job->reader_at, memory_order_relaxed) + FETCHER_LATE;
}

/* Takes files of the job as long as they fit. False: no file is wanted, or there is no memory. */
static bool fetcher_pick(struct fetcher *fetcher, struct fetcher_slot *slot, struct fetcher_job *job)
{
	const struct index *index = job->generation->opened.index;
	struct kept_batch *batch = slot->batch;
	struct inode inode;

	if (!job->is_sorted)
		pick_sort(index, job->ordinals, job->count);
	job->is_sorted = true;
	slot->run = (struct run){ .index = index, .chunks = slot->chunks, .gap = PICK_GAP };
	for (; job->next_file < job->count && batch->count < KEPT_FILES; job->next_file++) {
		if (fetcher_is_late(job, job->ordinals[job->next_file]))
			continue;
		if (inode_get(index, job->ordinals[job->next_file], &inode, NULL) < 0 || !pick_is_wanted(&inode))
			continue;
		if (run_add_file(&slot->run, &inode))
			kept_add(fetcher->kept, batch, job->generation->key, &inode, inode.ordinal == job->marker);
		else if (batch->count)
			break;
	}
	return batch->count && fetcher_reserve(fetcher, batch);
}

static void fetcher_read(struct fetcher *fetcher, struct fetcher_slot *slot)
{
	fetcher->memory.touched += !slot->is_touched;
	slot->is_touched = true;
	slot->failed = 0;
	slot->read.op.request = (struct read_request){ .version = generation_read(slot->job->generation),
						       .chunks = slot->chunks,
						       .chunk_count = slot->run.count,
						       .gap = PICK_GAP,
						       .payload = slot->batch->bytes,
						       .room = slot->batch->size,
						       .is_ahead = true,
						       .wanted = &fetcher->going };
	queue_read(&slot->read);
}

/* Gives memory back to the system: the scratch of more slots than may be used now, of those that are taken last again,
 * and what free() keeps. */
static void fetcher_give_back(struct fetcher *fetcher)
{
	const struct queue *queue = &fetcher->queue;

	for (unsigned i = 0; i < queue->free_count && fetcher->memory.touched > fetcher->memory.reads; i++) {
		struct fetcher_slot *slot = (struct fetcher_slot *)queue_at(queue, queue->free[i]);

		if (!slot->is_touched)
			continue;
		huge_empty(queue_scratch(&slot->read), READ_SCRATCH);
		slot->is_touched = false;
		fetcher->memory.touched--;
	}
	malloc_trim(0);
}

/* Sets the budget to a part of the memory that the machine and the control groups would have free if nothing were read
 * ahead; stored pages are charged to the daemon's group. Kept files above the budget are dropped. */
static void fetcher_look(struct fetcher *fetcher)
{
	uint64_t held = kept_bytes(fetcher->kept) + fetcher->memory.touched * READ_SCRATCH;
	struct allowance allowance =
		allowance_of((headroom_left() + held) / FETCHER_SHARE, fetcher->memory.most, fetcher->slot_count);

	counter_add(&fetcher->counters.ahead_dropped, kept_limit(fetcher->kept, allowance.kept));
	atomic_store(&fetcher->memory.budget, allowance.kept);
	fetcher->memory.reads = allowance.reads;
	if (allowance.kept < fetcher->memory.most || allowance.reads < fetcher->slot_count)
		fetcher_give_back(fetcher);
}

/* Checks free memory before a read if the last check is old, as others may have taken memory since. */
static void fetcher_look_again(struct fetcher *fetcher)
{
	uint64_t bytes = atomic_load(&fetcher->counters.ahead_bytes);
	int64_t now = clock_now();

	if (bytes - fetcher->memory.looked < FETCHER_LOOK && now - fetcher->memory.looked_at < FETCHER_LOOK_AFTER &&
	    atomic_load(&fetcher->memory.budget))
		return;
	fetcher_look(fetcher);
	fetcher->memory.looked = bytes;
	fetcher->memory.looked_at = now;
}

bool fetcher_may_read(const struct fetcher *fetcher)
{
	return fetcher->has_engine && atomic_load(&fetcher->going) && clock_now() >= atomic_load(&fetcher->paused) &&
	       atomic_load(&fetcher->memory.budget);
}

/* Starts one read of the job, or skips the rest of its files. */
static void fetcher_begin(struct fetcher *fetcher, struct fetcher_job *job)
{
	struct fetcher_slot *slot = (struct fetcher_slot *)queue_take(&fetcher->queue);
	bool found = false;

	fetcher_look_again(fetcher);
	slot->fetcher = fetcher;
	slot->batch = fetcher_may_read(fetcher) ? kept_begin(job->account) : NULL;
	if (slot->batch)
		found = fetcher_pick(fetcher, slot, job);
	else
		job->next_file = job->count;
	if (job->next_file == job->count)
		fetcher_pop(fetcher, job);
	if (!found) {
		if (slot->batch)
			kept_end(fetcher->kept, slot->batch, true);
		queue_give(&slot->read);
		fetcher_settle(fetcher, job);
		return;
	}
	slot->job = job;
	job->pending++;
	fetcher->busy++;
	fetcher_read(fetcher, slot);
}

/* A batch that waits to be stored counts as busy as well: otherwise all jobs might be read before any of their files is
 * stored. */
static void fetcher_begin_all(struct fetcher *fetcher)
{
	struct fetcher_job *job;

	while (fetcher->busy < fetcher->memory.reads && (job = fetcher_peek(fetcher)))
		fetcher_begin(fetcher, job);
}

/* ---- the thread ---- */

/* Called for each chunk that cannot be read. Its files do not arrive, so their READs read them. */
static void fetcher_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	struct fetcher_slot *slot = (struct fetcher_slot *)op;
	struct kept_batch *batch = slot->batch;

	for (struct kept_file *file = batch->files; file < batch->files + batch->count; file++) {
		if (atomic_load(&file->state) != KEPT_COMING || !run_has(slot->run.index, file->ordinal, chunk))
			continue;
		slot->failed++;
		kept_remove(slot->fetcher->kept, file);
	}
	log_debug("a read ahead failed, which is left to the READs: %s ordinal=%llu", err->reason,
		  (unsigned long long)batch->files[0].ordinal);
}

/* Gives up the read: the device would refuse each of its chunks, and READs wait for them. */
static void fetcher_path_failed(struct read_op *op, int code, bool is_parked)
{
	static const _Atomic uint64_t nobody;
	struct fetcher *fetcher = ((struct fetcher_slot *)op)->fetcher;

	(void)code;
	(void)is_parked;
	op->request.wanted = &nobody;
	atomic_store(&fetcher->paused, clock_now() + FETCHER_PAUSE);
}

/* Notes damage only while `going`, as a thread that was left behind may outlive the list. */
static void fetcher_copy_wrong(struct read_op *op, const struct reader_place *place, const struct error *err)
{
	const struct fetcher_slot *slot = (const struct fetcher_slot *)op;
	const struct fetcher *fetcher = slot->fetcher;

	if (atomic_load(&fetcher->going))
		serve_note_damage(fetcher->serve, place, slot->job->generation, err);
}

static const struct reader_events fetcher_events = {
	.failed = fetcher_failed,
	.path_failed = fetcher_path_failed,
	.copy_wrong = fetcher_copy_wrong,
};

static const struct queue_client fetcher_client = {
	.slot_size = sizeof(struct fetcher_slot),
	.events = &fetcher_events,
	.done = fetcher_done,
	.let_go = fetcher_let_go,
	.stuck = fetcher_stuck,
};

/* Drops old files and checks free memory. It runs once a second while files are kept, as others may need the memory,
 * and while there is no budget: nothing is read then, so no read would notice that there is memory again. */
static void fetcher_look_after(struct fetcher *fetcher)
{
	counter_add(&fetcher->counters.ahead_dropped, kept_expire(fetcher->kept, clock_now() - FETCHER_KEEP));
	fetcher_look(fetcher);
}

static void fetcher_woken(void *argument)
{
	struct fetcher *fetcher = argument;

	wake_take(&fetcher->wake);
	if (atomic_exchange(&fetcher->renew, false))
		engine_renew(fetcher->queue.reader.engine);
	if (atomic_exchange(&fetcher->leave, false))
		queue_leave_stuck(&fetcher->queue);
	if (atomic_exchange(&fetcher->again.is_set, false))
		fetcher_store_again(fetcher);
	if (atomic_exchange(&fetcher->tick, false))
		fetcher_look_after(fetcher);
}

/* Makes the engine on the thread that uses it, as an io_uring belongs to the thread that makes it. */
static int fetcher_engine(struct fetcher *fetcher, struct error *err)
{
	struct engine_setup setup = { .poll_fd = -1,
				      .wake = fetcher->wake.fd,
				      .woken = fetcher_woken,
				      .woken_argument = fetcher,
				      .volume_fds = fetcher->serve->volume.array->fds,
				      .member_count = fetcher->serve->volume.array->fd_count,
				      .depth = fetcher->slot_count * READ_RANGES };
	int r = queue_start(&fetcher->queue, &setup, fetcher->serve->machine.uring ? ring_new : pool_new, NULL, err);

	if (r < 0)
		log_error(err, "nothing is read ahead");
	return r;
}

static void fetcher_main(void *argument)
{
	struct fetcher *fetcher = argument;
	struct error err = { 0 };
	bool block;

	fetcher->has_engine = fetcher_engine(fetcher, &err) == 0;
	sem_post(&fetcher->started);
	if (!fetcher->has_engine)
		return;
	while (atomic_load(&fetcher->going) || fetcher->busy || fetcher_peek(fetcher)) {
		if (fetcher->stores.first)
			fetcher_store_some(fetcher);
		fetcher_begin_all(fetcher);
		block = !fetcher->stores.first && (atomic_load(&fetcher->going) || fetcher->busy);
		if (queue_wait(&fetcher->queue, block ? QUEUE_FOR_EVER : 0, &err) < 0) {
			log_error(&err, "cannot wait for reads ahead");
			abort(); /* the device would write to freed memory */
		}
	}
	queue_stop(&fetcher->queue); /* the engine holds the volume open */
}

/* ---- start and end ---- */

static int fetcher_open_owed(struct fetcher *fetcher, struct error *err)
{
	const struct serve *serve = fetcher->serve;
	size_t most = 0;

	for (unsigned i = 0; i < serve->worker_count; i++)
		most += serve->workers[i]->slots;
	fetcher->stores.owed = calloc(most, sizeof(*fetcher->stores.owed));
	return fetcher->stores.owed ? 0 : error_no_memory(err);
}

static int fetcher_open(struct fetcher *fetcher, bool keeps, struct error *err)
{
	const struct queue_setup setup = { .client = &fetcher_client,
					   .reader = { .options = &fetcher->options,
						       .geometry = fetcher->geometry,
						       .route = fetcher->serve->volume.route,
						       .window = fetcher->serve->volume.window,
						       .cached = fetcher->serve->cached,
						       .keeps = keeps,
						       .class = WINDOW_AHEAD,
						       .counters = &fetcher->counters.read },
					   .depth = fetcher->slot_count,
					   .is_huge = true };
	int r = queue_open(&fetcher->queue, &setup, err);

	return r < 0 ? r : fetcher_open_owed(fetcher, err);
}

static int fetcher_run(struct fetcher *fetcher, struct error *err)
{
	const struct thread_setup setup = { .run = fetcher_main, .argument = fetcher,
					    .what = "the thread that reads ahead" };
	int r = thread_start(&fetcher->thread, 1, &setup, err);

	if (r < 0)
		return r;
	while (sem_wait(&fetcher->started) < 0)
		continue;
	return 0;
}

int fetcher_start(struct serve *serve, const struct fetcher_setup *setup, struct fetcher **ret, struct error *err)
{
	struct fetcher *fetcher = aligned_alloc(_Alignof(struct fetcher), sizeof(*fetcher));
	int r;

	if (!fetcher)
		return error_no_memory(err);
	memset(fetcher, 0, sizeof(*fetcher));
	fetcher->serve = serve;
	fetcher->memory.most = setup->most;
	fetcher->slot_count = setup->slots;
	fetcher->next = setup->next;
	fetcher->owner = setup->owner;
	fetcher->jobs.end = &fetcher->jobs.first;
	fetcher->stores.end = &fetcher->stores.first;
	fetcher->options = (struct reader_options){ .verify = serve->options.read.verify };
	memcpy(fetcher->geometry, serve->volume.array->geometry,
	       serve->volume.array->count * sizeof(*fetcher->geometry));
	atomic_store(&fetcher->going, 1);
	pthread_mutex_init(&fetcher->jobs.lock, NULL);
	sem_init(&fetcher->started, 0, 0);
	r = wake_open(&fetcher->wake, err);
	if (r == 0)
		r = kept_new(setup->most, &fetcher->kept, err);
	if (r == 0)
		r = fetcher_open(fetcher, setup->keeps, err);
	if (r == 0)
		fetcher_look(fetcher);
	if (r == 0)
		r = fetcher_run(fetcher, err);
	if (r < 0) {
		fetcher_free(fetcher);
		return r;
	}
	*ret = fetcher;
	return 0;
}

bool fetcher_stop(struct fetcher *fetcher)
{
	if (!fetcher || !atomic_exchange(&fetcher->going, 0))
		return !fetcher || !fetcher->is_stuck;
	wake_up(&fetcher->wake);
	fetcher->is_stuck = !thread_join_soon(&fetcher->thread);
	if (fetcher->is_stuck)
		log_warn("the device holds a read ahead back, the daemon ends without it");
	return !fetcher->is_stuck;
}

void fetcher_free(struct fetcher *fetcher)
{
	if (!fetcher || fetcher->is_stuck)
		return;
	queue_close(&fetcher->queue);
	kept_free(fetcher->kept);
	free(fetcher->stores.owed);
	wake_close(&fetcher->wake);
	sem_destroy(&fetcher->started);
	pthread_mutex_destroy(&fetcher->jobs.lock);
	free(fetcher);
}

/* ---- for others ---- */

struct kept *fetcher_kept(const struct fetcher *fetcher)
{
	return fetcher->kept;
}

uint64_t fetcher_budget(const struct fetcher *fetcher)
{
	return atomic_load_explicit(&fetcher->memory.budget, memory_order_relaxed);
}

const struct counters *fetcher_counters(const struct fetcher *fetcher)
{
	return &fetcher->counters;
}

void fetcher_wake(struct fetcher *fetcher)
{
	wake_up(&fetcher->wake);
}

void fetcher_tick(struct fetcher *fetcher)
{
	if (!kept_bytes(fetcher->kept) && fetcher_budget(fetcher))
		return;
	atomic_store(&fetcher->tick, true);
	wake_up(&fetcher->wake);
}

void fetcher_renew(struct fetcher *fetcher)
{
	atomic_store(&fetcher->renew, true);
	wake_up(&fetcher->wake);
}

void fetcher_leave(struct fetcher *fetcher)
{
	atomic_store(&fetcher->leave, true);
	wake_up(&fetcher->wake);
}
