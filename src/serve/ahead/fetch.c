/* SPDX-License-Identifier: MIT */
/* A queue of jobs, a thread with a reader and an engine, and a few reads at a time. */
#include "serve/ahead/fetch.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/huge.h"
#include "base/log.h"
#include "fuse/store.h"
#include "read/read.h"
#include "serve/ahead/gather.h"
#include "serve/opening/headroom.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

#define FETCH_SLOTS  4u                    /* reads at a time */
#define FETCH_STORE_MOST (128u << 10)      /* bytes of a file that is stored: larger ones gain little by it */
#define FETCH_KEEP   INT64_C(30000000000)  /* ns that a file is kept for */
#define FETCH_PAUSE  INT64_C(1000000000)   /* ns without a read ahead when the way to the device failed */
#define FETCH_LOOK   (UINT64_C(32) << 20)  /* bytes between two looks at what memory is left */
#define FETCH_SHARE  4u                    /* the part of the free memory that may be ahead of readers */
#define FETCH_OWED   64u                   /* READs under way that are looked at; more than that are rare */
#define FETCH_LINGER 2                     /* seconds for the thread to end */

struct fetch_slot {
	struct read_op op; /* the first member */
	struct fetch *fetch;
	struct fetch_job *job; /* NULL: free */
	struct kept_batch *batch;
	struct gather gather;
	uint8_t *scratch;
};

struct fetch {
	struct counters counters;
	struct serve *serve;
	struct kept *kept;
	int mount_fd;
	pthread_t thread;
	struct wake wake;
	pthread_mutex_t lock; /* jobs, count */
	struct fetch_job *jobs, **last;
	unsigned count;
	_Atomic uint64_t going; /* 0: it ends, and reads of more than one round with it */
	_Atomic bool renew, tick;
	sem_t started;   /* posted by the thread, */
	bool has_engine; /* which says by then whether it goes on */
	bool is_stuck;   /* fetch_stop() left it behind */
	_Atomic int64_t paused; /* no jobs until then, ns, monotonic */
	_Atomic uint64_t budget;
	uint64_t most;
	/* The thread's: */
	struct reader_options options;
	struct file_geometry geometry; /* a copy: the thread may outlive the volume */
	struct reader reader;
	unsigned busy;    /* slots */
	uint64_t looked;  /* bytes read when the memory was looked at */
	uint64_t owed[FETCH_OWED]; /* nodes */
	unsigned owed_count;
	struct fetch_slot slots[FETCH_SLOTS];
};

/* ---- the queue ---- */

bool fetch_post(struct fetch *fetch, struct fetch_job *job)
{
	struct generations *generations = &fetch->serve->generations;
	bool posted = false;

	if (clock_now() < atomic_load(&fetch->paused) || !generations_hold(generations, job->generation))
		return false;
	pthread_mutex_lock(&fetch->lock);
	if (fetch->has_engine && fetch->count < FETCH_JOBS && atomic_load(&fetch->going)) {
		*fetch->last = job;
		fetch->last = &job->next;
		fetch->count++;
		posted = true;
	}
	pthread_mutex_unlock(&fetch->lock);
	if (posted)
		wake_up(&fetch->wake);
	else
		generations_forget(generations, job->generation, 1);
	return posted;
}

/* The job that is next to be worked on; NULL: none. It stays in the queue until all of it is under way. */
static struct fetch_job *fetch_peek(struct fetch *fetch)
{
	struct fetch_job *job;

	pthread_mutex_lock(&fetch->lock);
	job = fetch->jobs;
	pthread_mutex_unlock(&fetch->lock);
	return job;
}

static void fetch_pop(struct fetch *fetch, const struct fetch_job *job)
{
	pthread_mutex_lock(&fetch->lock);
	fetch->jobs = job->next;
	if (!fetch->jobs)
		fetch->last = &fetch->jobs;
	fetch->count--;
	pthread_mutex_unlock(&fetch->lock);
}

/* A part of it ended; it is done when all of it is under way no more. */
static void fetch_settle(struct fetch *fetch, struct fetch_job *job)
{
	struct generation *generation = job->generation;

	if (job->next_file < job->count || job->pending)
		return;
	job->done(job);
	generations_forget(&fetch->serve->generations, generation, 1);
}

/* ---- a batch that has arrived ---- */

/* The nodes whose READ began before the fetch did: a store would wait for its reply. */
static void fetch_note_owed(struct fetch *fetch)
{
	const struct serve *serve = fetch->serve;
	uint64_t node;

	fetch->owed_count = 0;
	for (unsigned i = 0; i < serve->worker_count; i++)
		for (size_t k = 0; k < serve->workers[i]->slots; k++) {
			node = atomic_load_explicit(&serve->workers[i]->reading[k], memory_order_relaxed);
			if (node && fetch->owed_count < FETCH_OWED)
				fetch->owed[fetch->owed_count++] = node;
		}
}

static bool fetch_is_owed(const struct fetch *fetch, uint64_t node)
{
	for (unsigned i = 0; i < fetch->owed_count; i++)
		if (fetch->owed[i] == node)
			return true;
	return false;
}

static void fetch_store(struct fetch *fetch, struct fetch_slot *slot)
{
	const struct fetch_job *job = slot->job;
	struct kept_file *file;
	uint64_t node;

	fetch_note_owed(fetch);
	for (file = slot->batch->files; file < slot->batch->files + slot->batch->count; file++) {
		node = generation_node(job->generation, file->ordinal);
		if (atomic_load(&file->state) != KEPT_READY || file->size > FETCH_STORE_MOST ||
		    file->ordinal == job->marker || fetch_is_owed(fetch, node) || !atomic_load(&fetch->going) ||
		    store_file(fetch->mount_fd, node, slot->batch->bytes + file->offset, file->size) < 0)
			continue;
		kept_remove(fetch->kept, file);
		slot->job->stored++;
		counter_add(&fetch->counters.ahead_stored, 1);
	}
}

/* The slot first: the next job may be started in it. */
static void fetch_done(struct read_op *op, int64_t result)
{
	struct fetch_slot *slot = (struct fetch_slot *)op;
	struct fetch *fetch = slot->fetch;
	struct fetch_job *job = slot->job;

	counter_add(&fetch->counters.read.failures, 0 - atomic_load(&fetch->counters.read.failures)); /* no READ failed */
	if (result >= 0) {
		kept_arrive(fetch->kept, slot->batch);
		job->fetched += slot->batch->count;
		job->bytes += (uint64_t)result;
		counter_add(&fetch->counters.ahead_files, slot->batch->count);
		counter_add(&fetch->counters.ahead_bytes, (uint64_t)result);
		fetch_store(fetch, slot);
	} else {
		counter_add(&fetch->counters.ahead_failures, 1);
	}
	kept_end(fetch->kept, slot->batch, result < 0);
	slot->job = NULL;
	fetch->busy--;
	job->pending--;
	fetch_settle(fetch, job);
}

/* ---- what is read next ---- */

/* Takes files of the job as long as they fit. False: there was none. */
static bool fetch_gather(struct fetch *fetch, struct fetch_slot *slot, struct fetch_job *job)
{
	const struct index *index = job->generation->index;
	struct kept_batch *batch = slot->batch;
	struct inode inode;

	gather_begin(&slot->gather, index);
	for (; job->next_file < job->count && batch->count < KEPT_FILES; job->next_file++) {
		if (inode_get(index, job->ordinals[job->next_file], &inode, NULL) < 0 || !gather_is_wanted(&inode))
			continue;
		if (gather_add(&slot->gather, &inode))
			kept_add(fetch->kept, batch, job->generation->key, inode.ordinal, (uint32_t)inode.size);
		else if (batch->count)
			break;
	}
	return batch->count;
}

static void fetch_read(struct fetch *fetch, struct fetch_slot *slot)
{
	slot->op.request = (struct read_request){ .version = generation_read(slot->job->generation),
						  .chunks = slot->gather.chunks,
						  .chunk_count = slot->gather.count,
						  .gap = GATHER_GAP,
						  .payload = slot->batch->bytes,
						  .room = READ_MAX,
						  .scratch = slot->scratch,
						  .wanted = &fetch->going,
						  .done = fetch_done };
	read_begin(&fetch->reader, &slot->op);
}

/* What is free of the machine's memory and of the control groups': stored pages are charged to the daemon's. */
static void fetch_look(struct fetch *fetch)
{
	uint64_t bytes = atomic_load(&fetch->counters.ahead_bytes), left;

	if (fetch->looked && bytes - fetch->looked < FETCH_LOOK)
		return;
	fetch->looked = bytes ? bytes : 1;
	left = headroom_left() / FETCH_SHARE;
	atomic_store(&fetch->budget, left < READ_MAX ? 0 : left < fetch->most ? left : fetch->most);
}

static bool fetch_may_read(struct fetch *fetch)
{
	return atomic_load(&fetch->going) && clock_now() >= atomic_load(&fetch->paused) &&
	       atomic_load(&fetch->budget);
}

/* Starts one read of the job, or passes over the rest of it. */
static void fetch_begin(struct fetch *fetch, struct fetch_slot *slot, struct fetch_job *job)
{
	uint64_t dropped = 0;
	bool found = false;

	fetch_look(fetch);
	slot->batch = fetch_may_read(fetch) ? kept_begin(fetch->kept, &dropped) : NULL;
	counter_add(&fetch->counters.ahead_dropped, dropped);
	if (slot->batch)
		found = fetch_gather(fetch, slot, job);
	else
		job->next_file = job->count;
	if (job->next_file == job->count)
		fetch_pop(fetch, job);
	if (!found) {
		if (slot->batch)
			kept_end(fetch->kept, slot->batch, true);
		fetch_settle(fetch, job);
		return;
	}
	slot->job = job;
	job->pending++;
	fetch->busy++;
	fetch_read(fetch, slot);
}

static struct fetch_slot *fetch_free_slot(struct fetch *fetch)
{
	for (unsigned i = 0; i < FETCH_SLOTS; i++)
		if (!fetch->slots[i].job)
			return &fetch->slots[i];
	return NULL;
}

static void fetch_begin_all(struct fetch *fetch)
{
	struct fetch_slot *slot;
	struct fetch_job *job;

	while ((slot = fetch_free_slot(fetch)) && (job = fetch_peek(fetch)))
		fetch_begin(fetch, slot, job);
}

/* ---- the thread ---- */

static void fetch_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	(void)chunk;
	log_debug("a read ahead failed, which is left to the READs: %s ordinal=%llu", err->reason,
		  (unsigned long long)((struct fetch_slot *)op)->batch->files[0].ordinal);
}

static void fetch_path_failed(struct read_op *op, int code, bool is_parked)
{
	struct fetch *fetch = ((struct fetch_slot *)op)->fetch;

	(void)code;
	(void)is_parked;
	atomic_store(&fetch->paused, clock_now() + FETCH_PAUSE);
}

static const struct reader_events fetch_events = { .failed = fetch_failed, .path_failed = fetch_path_failed };

static void fetch_woken(void *argument)
{
	struct fetch *fetch = argument;

	wake_take(&fetch->wake);
	if (atomic_exchange(&fetch->renew, false))
		engine_renew(fetch->reader.engine);
	if (atomic_exchange(&fetch->tick, false))
		counter_add(&fetch->counters.ahead_dropped, kept_expire(fetch->kept, clock_now() - FETCH_KEEP));
}

/* An io_uring belongs to the thread that makes it. */
static int fetch_engine(struct fetch *fetch, struct error *err)
{
	struct engine_setup setup = { .poll_fd = -1,
				      .wake = fetch->wake.fd,
				      .woken = fetch_woken,
				      .woken_argument = fetch,
				      .volume_fds = &fetch->serve->volume->fd,
				      .member_count = 1,
				      .depth = FETCH_SLOTS * READ_RANGES };
	int r = fetch->serve->uring ? ring_new(&setup, &fetch->reader.engine, err) :
				      sync_new(&setup, &fetch->reader.engine, err);

	if (r < 0)
		log_error(err, "nothing is read ahead");
	return r;
}

static void *fetch_main(void *argument)
{
	struct fetch *fetch = argument;
	struct error err = { 0 };
	bool readable;

	fetch->has_engine = fetch_engine(fetch, &err) == 0;
	sem_post(&fetch->started);
	if (!fetch->has_engine)
		return NULL;
	while (atomic_load(&fetch->going) || fetch->busy || fetch_peek(fetch)) {
		fetch_begin_all(fetch);
		if ((atomic_load(&fetch->going) || fetch->busy) &&
		    engine_wait(fetch->reader.engine, true, &readable, &err) < 0) {
			log_error(&err, "cannot wait for reads ahead");
			abort(); /* freed memory would be written to */
		}
	}
	return NULL;
}

/* ---- start and end ---- */

static int fetch_open(struct fetch *fetch, struct error *err)
{
	struct reader_setup reader = { .options = &fetch->options,
				       .geometry = &fetch->geometry,
				       .events = &fetch_events,
				       .counters = &fetch->counters.read };
	int r = reader_open(&fetch->reader, &reader, err);

	for (unsigned i = 0; i < FETCH_SLOTS && r == 0; i++) {
		fetch->slots[i].fetch = fetch;
		fetch->slots[i].scratch = huge_alloc(READ_SCRATCH);
		if (!fetch->slots[i].scratch)
			r = error_set(err, -ENOMEM, "no memory to read ahead");
	}
	return r;
}

static int fetch_run(struct fetch *fetch, struct error *err)
{
	int r = pthread_create(&fetch->thread, NULL, fetch_main, fetch);

	if (r)
		return error_set(err, -r, "cannot start the thread that reads ahead: %s", strerror(r));
	while (sem_wait(&fetch->started) < 0)
		continue;
	return 0;
}

int fetch_start(struct serve *serve, uint64_t most, struct fetch **ret, struct error *err)
{
	struct fetch *fetch = aligned_alloc(_Alignof(struct fetch), sizeof(*fetch));
	int r;

	if (!fetch)
		return error_set(err, -ENOMEM, "no memory to read ahead");
	memset(fetch, 0, sizeof(*fetch));
	fetch->serve = serve;
	fetch->mount_fd = serve->mount_fd;
	fetch->most = most;
	fetch->last = &fetch->jobs;
	fetch->options = (struct reader_options){ .verify = serve->options.read.verify };
	fetch->geometry = serve->volume->geometry;
	atomic_store(&fetch->going, 1);
	atomic_store(&fetch->budget, most);
	pthread_mutex_init(&fetch->lock, NULL);
	sem_init(&fetch->started, 0, 0);
	r = wake_open(&fetch->wake, err);
	if (r == 0)
		r = kept_new(most, &fetch->kept, err);
	if (r == 0)
		r = fetch_open(fetch, err);
	if (r == 0)
		r = fetch_run(fetch, err);
	if (r < 0) {
		fetch_free(fetch);
		return r;
	}
	*ret = fetch;
	return 0;
}

bool fetch_stop(struct fetch *fetch)
{
	struct timespec until;

	if (!fetch || !atomic_exchange(&fetch->going, 0))
		return !fetch || !fetch->is_stuck;
	wake_up(&fetch->wake);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += FETCH_LINGER;
	fetch->is_stuck = pthread_timedjoin_np(fetch->thread, NULL, &until) != 0;
	if (fetch->is_stuck)
		log_warn("the device holds a read ahead back, the daemon ends without it");
	return !fetch->is_stuck;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch || fetch->is_stuck)
		return;
	engine_free(fetch->reader.engine);
	reader_close(&fetch->reader);
	for (unsigned i = 0; i < FETCH_SLOTS; i++)
		free(fetch->slots[i].scratch);
	kept_free(fetch->kept);
	wake_close(&fetch->wake);
	sem_destroy(&fetch->started);
	pthread_mutex_destroy(&fetch->lock);
	free(fetch);
}

/* ---- for others ---- */

struct kept *fetch_kept(const struct fetch *fetch)
{
	return fetch->kept;
}

uint64_t fetch_budget(const struct fetch *fetch)
{
	return atomic_load_explicit(&fetch->budget, memory_order_relaxed);
}

const struct counters *fetch_counters(const struct fetch *fetch)
{
	return &fetch->counters;
}

void fetch_tick(struct fetch *fetch)
{
	if (kept_is_empty(fetch->kept))
		return;
	atomic_store(&fetch->tick, true);
	wake_up(&fetch->wake);
}

void fetch_renew(struct fetch *fetch)
{
	atomic_store(&fetch->renew, true);
	wake_up(&fetch->wake);
}
