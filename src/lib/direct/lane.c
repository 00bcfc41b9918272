/* SPDX-License-Identifier: MIT */
/* Keeps lanes by thread. A lane's memory belongs to its thread; its contents also belong to the version. Whichever
 * ends first takes the contents apart, under the lock. */
#include "lib/direct/lane.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "lib/forked.h"

#define LANE_TIMEOUT 15u /* seconds that a read waits for a device whose path fails */

/* The lanes of one thread; lanes of a former generation are a parent's. */
struct lane_thread {
	uint64_t generation;
	struct lane *lanes;
};

static __thread struct lane_thread lane_thread;

/* Guarded by forked_lock(). */
static pthread_key_t lane_key; /* its destructor runs when a thread ends */
static bool has_key;
static struct lane *all;
static struct lane *kept; /* lanes that devices still write to; linked by all_next */
static uint64_t all_generation;

/* --- taking apart --- */

/* Frees engines and buffers after all reads have come back from the kernel. */
static void lane_end_reads(struct lane *lane)
{
	engine_free(lane->lost);
	engine_free(lane->many);
	engine_free(lane->sync);
	queue_close(&lane->queue);
	free(lane->files);
}

/* Handles completed reads of a lost or left engine; true: the kernel has none of its reads any more. */
static bool lane_take_back(struct engine *engine)
{
	struct io_read *read, *next;
	bool is_over = engine_wind_up(engine, &read);

	for (; read; read = next) {
		next = read->next;
		read_move(read);
	}
	return is_over;
}

/* Whether the device has let go of all left reads of a lane that no caller reads with. */
static bool lane_is_free(struct lane *lane)
{
	if (lane->queue.left && lane->lost)
		(void)lane_take_back(lane->lost);
	if (lane->queue.left && lane->many && lane->many->ops->wind_up)
		(void)lane_take_back(lane->many);
	return !lane->queue.left;
}

/* Keeps the memory of reads that were left, and a use of the volume, as the device may still write to it. Under the
 * lock. */
static void lane_keep(struct lane *lane)
{
	lane->kept = lane->direct->volume;
	atomic_fetch_add(&lane->kept->uses, 1);
	lane->all_next = kept;
	kept = lane;
}

/* Closes all that a lane shares with its version; its own memory stays. Under the lock. */
static void lane_clear(struct lane *lane)
{
	tally_tell(&lane->tally, &lane->counters, lane->direct->link, true);
	names_reader_close(lane->names);
	if (lane_is_free(lane))
		lane_end_reads(lane);
	else
		lane_keep(lane);
}

/* Notes that the thread or queue needs the lane's memory no more. Under the lock. */
static void lane_drop(struct lane *lane)
{
	lane->is_dropped = true;
	if (!lane->kept)
		free(lane);
}

/* Frees kept lanes that devices have let go of. Under the lock. */
static void lane_look_at_kept(void)
{
	struct lane **link = &kept, *lane;

	while ((lane = *link)) {
		if (!lane_is_free(lane)) {
			link = &lane->all_next;
			continue;
		}
		*link = lane->all_next;
		lane_end_reads(lane);
		direct_volume_put(lane->kept);
		lane->kept = NULL;
		if (lane->is_dropped)
			free(lane);
	}
}

static void lane_unlink(struct lane *lane)
{
	*lane->all_link = lane->all_next;
	if (lane->all_next)
		lane->all_next->all_link = lane->all_link;
}

void lane_free(struct lane *lane)
{
	if (!lane)
		return;
	forked_lock();
	if (!atomic_load(&lane->is_dead)) {
		lane_unlink(lane);
		lane_clear(lane);
	}
	lane_drop(lane);
	forked_unlock();
}

static void lane_thread_ends(void *argument)
{
	struct lane_thread *thread = argument;
	struct lane *lane, *next;

	if (thread->generation == forked_generation())
		for (lane = thread->lanes; lane; lane = next) {
			next = lane->next;
			lane_free(lane);
		}
	thread->lanes = NULL;
}

/* Registers the destructor for the thread: without it, rings of threads that ended would stay. */
static int lane_watch(struct lane_thread *thread, struct error *err)
{
	int r = 0;

	forked_lock();
	if (!has_key)
		r = pthread_key_create(&lane_key, lane_thread_ends);
	has_key = r == 0;
	forked_unlock();
	if (r == 0)
		r = pthread_setspecific(lane_key, thread);
	return r ? error_set(err, -r, "no key for what a thread has") : 0;
}

/* Forgets a parent's lists after a raw clone(2), which runs no handler and may copy them mid-change. Under the lock. */
static void lane_adopt_all(void)
{
	if (all_generation == forked_generation())
		return;
	all = kept = NULL;
	all_generation = forked_generation();
}

void lane_close_all(struct direct *direct)
{
	struct lane *lane, *next;

	forked_lock();
	lane_adopt_all();
	lane_look_at_kept();
	for (lane = all; lane; lane = next) {
		next = lane->all_next;
		if (lane->direct != direct)
			continue;
		lane_unlink(lane);
		lane_clear(lane);
		atomic_store(&lane->is_dead, true);
	}
	forked_unlock();
}

static void lane_forget(struct lane *list)
{
	for (struct lane *lane = list; lane; lane = lane->all_next) {
		engine_forget(lane->many);
		engine_forget(lane->lost);
	}
}

/* Forgets the parent's lanes in a forked child, and closes their rings: a ring lives as long as a child has its
 * descriptor. */
static void lane_in_child(void)
{
	lane_forget(all);
	lane_forget(kept);
	all = kept = NULL;
	all_generation = forked_generation();
}

/* --- making --- */

/* Makes the caches. A child replaces its parent's, which may be locked by reads that never end. Under the lock. */
static int lane_make_caches(struct direct *direct, struct error *err)
{
	struct volume *volume = direct->volume;
	int r = 0;

	if (volume->generation != forked_generation()) {
		volume->cache = NULL;
		volume->pages = NULL;
		volume->route = NULL;
		volume->generation = forked_generation();
	}
	if (!volume->cache)
		r = chunk_cache_new((size_t)1 << direct->index->chunk_log, &volume->cache, err);
	if (r == 0 && !volume->pages)
		r = page_cache_new(&volume->pages, err);
	if (r == 0 && !volume->route && volume->array->count > 1)
		r = route_new(volume->array->count, &volume->route, err);
	return r;
}

static bool lane_has_copies(const struct members *members)
{
	for (uint32_t i = 0; i < members->group_count; i++)
		if (members->groups[i].redundant)
			return true;
	return false;
}

int lane_new(struct direct *direct, struct lane **ret, struct error *err)
{
	struct lane *lane = calloc(1, sizeof(*lane));
	int r;

	if (!lane)
		return error_no_memory(err);
	lane->direct = direct;
	lane->key = direct->key;
	lane->has_copies = lane_has_copies(&direct->index->members);
	forked_call_in_child(lane_in_child);
	forked_lock();
	lane_adopt_all();
	lane_look_at_kept();
	r = lane_make_caches(direct, err);
	if (r == 0)
		r = names_reader_open(direct->index->names, &lane->names, err);
	if (r == 0) {
		lane->all_next = all;
		lane->all_link = &all;
		if (all)
			all->all_link = &lane->all_next;
		all = lane;
	}
	forked_unlock();
	if (r < 0) {
		free(lane);
		return r;
	}
	*ret = lane;
	return 0;
}

/* --- of this thread --- */

/* Drops this thread's lanes of versions that are closed. */
static void lane_sweep(struct lane_thread *thread)
{
	struct lane **link = &thread->lanes, *lane;

	while ((lane = *link)) {
		if (!atomic_load(&lane->is_dead)) {
			link = &lane->next;
			continue;
		}
		*link = lane->next;
		forked_lock();
		lane_drop(lane);
		forked_unlock();
	}
}

static int lane_add(struct lane_thread *thread, struct direct *direct, struct lane **ret, struct error *err)
{
	struct lane *lane = NULL;
	int r = lane_watch(thread, err);

	if (r < 0)
		return r;
	lane_sweep(thread);
	r = lane_new(direct, &lane, err);
	if (r < 0)
		return r;
	lane->is_busy = true;
	lane->next = thread->lanes;
	thread->lanes = lane;
	*ret = lane;
	return 0;
}

int lane_enter(struct direct *direct, struct lane **ret, struct error *err)
{
	struct lane_thread *thread = &lane_thread;
	uint64_t generation = forked_generation();

	if (thread->generation != generation)
		*thread = (struct lane_thread){ .generation = generation };
	for (struct lane *lane = thread->lanes; lane; lane = lane->next)
		if (lane->key == direct->key && !lane->is_busy) {
			lane->is_busy = true;
			*ret = lane;
			return 0;
		}
	return lane_add(thread, direct, ret, err);
}

void lane_leave(struct lane *lane)
{
	lane->is_busy = false;
}

void lane_tell(void)
{
	struct lane *lane = lane_thread.lanes;

	if (!lane || lane_thread.generation != forked_generation())
		return;
	forked_lock();
	for (; lane; lane = lane->next)
		if (!atomic_load(&lane->is_dead))
			tally_tell(&lane->tally, &lane->counters, lane->direct->link, true);
	forked_unlock();
}

/* --- reading --- */

static struct engine_setup lane_setup(const struct lane *lane)
{
	return (struct engine_setup){ .poll_fd = -1,
				      .wake = -1,
				      .volume_fds = lane->direct->volume->array->fds,
				      .member_count = lane->direct->volume->array->count,
				      .depth = lane->depth ? lane->depth : LANE_DEPTH,
				      .moves = lane->depth > 0,
				      .is_freed_elsewhere = true };
}

static int lane_make_engines(struct lane *lane, bool many, struct error *err)
{
	const struct engine_setup setup = lane_setup(lane);
	int r = 0;

	if (!lane->sync)
		r = sync_new(&setup, &lane->sync, err);
	if (r < 0 || !many || lane->has_tried_many)
		return r;
	lane->has_tried_many = true;
	/* Containers and limits may refuse io_uring, and limits also threads. */
	if (ring_new(&setup, &lane->many, NULL) < 0 && pool_new(&setup, &lane->many, NULL) < 0)
		lane->many = NULL;
	return 0;
}

/* Drops a ring that the program closed. No read is in flight, except ones that were left to the device. */
static void lane_replace_ring(struct lane *lane)
{
	if (!lane->many || engine_is_open(lane->many))
		return;
	if (lane->queue.left) {
		lane_lose_ring(lane);
		return;
	}
	engine_free(lane->many);
	lane->many = NULL;
	lane->has_tried_many = false;
}

/* A forked child must not share memory that the device writes to: either side's writes would copy pages. */
static int lane_open_queue(struct lane *lane, const struct queue_client *client, struct error *err)
{
	static const struct reader_options options = { .verify = true, .wait = true, .deadline = LANE_TIMEOUT };
	const struct volume *volume = lane->direct->volume;
	const unsigned depth = lane->depth ? lane->depth : LANE_DEPTH;
	const struct queue_setup setup = { .client = client,
					   .reader = { .options = &options,
						       .geometry = volume->array->geometry,
						       .cache = volume->cache,
						       .pages = volume->pages,
						       .route = volume->route,
						       .counters = &lane->counters },
					   .depth = depth,
					   .spare = lane->has_copies ? depth : 0,
					   .is_unshared = true };

	return queue_open(&lane->queue, &setup, err);
}

int lane_start(struct lane *lane, const struct queue_client *client, bool many, unsigned depth, struct error *err)
{
	struct engine *engine;
	int r;

	lane->depth = depth;
	r = lane->queue.client ? 0 : lane_open_queue(lane, client, err);
	if (many)
		lane_replace_ring(lane);
	if (r == 0)
		r = lane_make_engines(lane, many, err);
	if (r < 0)
		return r;
	engine = many && lane->many ? lane->many : lane->sync;
	lane->queue.reader.engine = engine;
	/* A synchronous read cannot be left: its thread waits for it. */
	lane->queue.watches = lane->has_copies && engine->ops->wind_up;
	return 0;
}

void lane_wind_up(struct lane *lane)
{
	if (!lane_take_back(lane->lost))
		return;
	engine_free(lane->lost);
	lane->lost = NULL;
}

void lane_lose_ring(struct lane *lane)
{
	const struct engine_setup setup = lane_setup(lane);

	lane->lost = lane->many;
	lane->many = NULL;
	lane->queue.watches = false;
	if (pool_new(&setup, &lane->many, NULL) < 0)
		lane->many = NULL;
	lane->queue.reader.engine = lane->many ? lane->many : lane->sync;
	lane_wind_up(lane);
}

void lane_check_ring(struct lane *lane)
{
	if (lane->queue.reader.engine == lane->many && !engine_is_open(lane->many))
		lane_lose_ring(lane);
}
