/* SPDX-License-Identifier: MIT */
/* Keeps contexts by thread. A context's memory belongs to its thread; its contents also belong to the version.
 * Whichever ends first takes the contents apart, under the lock. */
#include "lib/direct/context.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "cache/view.h"
#include "lib/direct/daemon/link.h"
#include "lib/direct/engines.h"
#include "lib/forked.h"
#include "read/cached.h"

#define CONTEXT_TIMEOUT 15u /* seconds that a read waits for a device whose path fails */

/* The contexts of one thread; contexts of a former generation are a parent's. */
struct context_thread {
	uint64_t generation;
	struct context *contexts;
};

static __thread struct context_thread context_thread;

/* Guarded by forked_lock(). */
static pthread_key_t context_key; /* its destructor runs when a thread ends */
static bool has_key;
static struct context *all;
static struct context *kept; /* contexts that devices still write to; linked by all_next */
static uint64_t all_generation;

static void context_report(struct context *context)
{
	tally_tell(&context->tally, &context->counters, context->direct->link,
		   context->cached ? context->cached->view : NULL, true);
}

/* --- taking apart --- */

/* Frees engines and buffers after all reads have come back from the kernel. */
static void context_end_reads(struct context *context)
{
	engine_free(context->engines.lost);
	engine_free(context->engines.many);
	engine_free(context->engines.one);
	queue_close(&context->queue);
	cached_free(context->cached);
	context->cached = NULL;
	free(context->files);
}

/* Handles completed reads of a lost or left engine; true: the kernel has none of its reads any more. */
static bool context_take_back(struct engine *engine)
{
	struct io_read *read, *next;
	bool is_over = engine_wind_up(engine, &read);

	for (; read; read = next) {
		next = read->next;
		read_move(read);
	}
	return is_over;
}

/* Whether the device has let go of all left reads of a context that no caller reads with. */
static bool context_is_free(struct context *context)
{
	if (context->queue.left && context->engines.lost)
		(void)context_take_back(context->engines.lost);
	if (context->queue.left && context->engines.many && context->engines.many->ops->wind_up)
		(void)context_take_back(context->engines.many);
	return !context->queue.left;
}

/* Keeps the memory of reads that were left, and a use of the volume, as the device may still write to it. Under the
 * lock. */
static void context_keep(struct context *context)
{
	context->kept = context->direct->volume;
	atomic_fetch_add(&context->kept->uses, 1);
	context->all_next = kept;
	kept = context;
}

/* Closes all that a context shares with its version; its own memory stays. Under the lock. */
static void context_clear(struct context *context)
{
	context_report(context);
	if (context_is_free(context))
		context_end_reads(context);
	else
		context_keep(context);
}

/* Notes that the thread or queue needs the context's memory no more. Under the lock. */
static void context_drop(struct context *context)
{
	context->is_dropped = true;
	if (!context->kept)
		free(context);
}

/* Frees kept contexts that devices have let go of. Under the lock. */
static void context_look_at_kept(void)
{
	struct context **link = &kept, *context;

	while ((context = *link)) {
		if (!context_is_free(context)) {
			link = &context->all_next;
			continue;
		}
		*link = context->all_next;
		context_end_reads(context);
		direct_volume_put(context->kept);
		context->kept = NULL;
		if (context->is_dropped)
			free(context);
	}
}

static void context_unlink(struct context *context)
{
	*context->all_link = context->all_next;
	if (context->all_next)
		context->all_next->all_link = context->all_link;
}

void context_free(struct context *context)
{
	if (!context)
		return;
	forked_lock();
	if (!atomic_load(&context->is_dead)) {
		context_unlink(context);
		context_clear(context);
	}
	context_drop(context);
	forked_unlock();
}

static void context_thread_ends(void *argument)
{
	struct context_thread *thread = argument;
	struct context *context, *next;

	if (thread->generation == forked_generation())
		for (context = thread->contexts; context; context = next) {
			next = context->next;
			context_free(context);
		}
	thread->contexts = NULL;
}

/* Registers the destructor for the thread: without it, rings of threads that ended would stay. */
static int context_watch(struct context_thread *thread, struct error *err)
{
	int r = 0;

	forked_lock();
	if (!has_key)
		r = pthread_key_create(&context_key, context_thread_ends);
	has_key = r == 0;
	forked_unlock();
	if (r == 0)
		r = pthread_setspecific(context_key, thread);
	return r ? error_set(err, -r, "no pthread key is left for data of a thread") : 0;
}

/* Forgets a parent's lists after a raw clone(2), which runs no handler and may copy them mid-change. Under the lock. */
static void context_adopt_all(void)
{
	if (all_generation == forked_generation())
		return;
	all = kept = NULL;
	all_generation = forked_generation();
}

void context_close_all(struct direct *direct)
{
	struct context *context, *next;

	forked_lock();
	context_adopt_all();
	context_look_at_kept();
	for (context = all; context; context = next) {
		next = context->all_next;
		if (context->direct != direct)
			continue;
		context_unlink(context);
		context_clear(context);
		atomic_store(&context->is_dead, true);
	}
	forked_unlock();
}

static void context_forget(struct context *list)
{
	for (struct context *context = list; context; context = context->all_next) {
		engine_forget(context->engines.many);
		engine_forget(context->engines.lost);
	}
}

/* Forgets the parent's contexts in a forked child, and closes their rings: a ring lives as long as a child has its
 * descriptor. */
static void context_in_child(void)
{
	context_forget(all);
	context_forget(kept);
	all = kept = NULL;
	all_generation = forked_generation();
}

/* --- making --- */

/* A mount's readers have one window together, if the mount has one. Without a mount each process has its own. */
static int context_make_window(struct direct *direct, struct error *err)
{
	struct state_terms terms = { .is_adaptive = true };
	struct window_setup setup = { .members = direct->volume->array->count };

	if (direct->link)
		link_terms(direct->link, &terms);
	setup.is_adaptive = terms.is_adaptive;
	setup.iops = terms.iops;
	setup.bandwidth = terms.bandwidth;
	if (!terms.is_adaptive && !terms.iops && !terms.bandwidth)
		return 0;
	return window_new(&setup, &direct->volume->window, err);
}

/* Borrows the daemon's cache when the volume is first read, and again in a forked child, where its parent's reads seem
 * to be under way for ever. The uses of the parent's contexts stay with the parent's. */
static void context_make_cached(struct direct *direct, struct cached *former)
{
	struct direct_volume *volume = direct->volume;
	struct view *view = former ? former->view : direct->link ? link_take_view(direct->link) : NULL;
	struct cached *cached = NULL;

	if (view && cached_borrow(view, volume->array->count, &cached, NULL) < 0) {
		if (!former) /* which others may still use */
			view_return(view);
	} else if (view) {
		array_extend(volume->array, view_data(view));
	}
	atomic_store(&volume->cached, cached);
}

/* Makes the caches. A child replaces its parent's, which may be locked by reads that never end. Under the lock. */
static int context_make_caches(struct direct *direct, struct error *err)
{
	struct direct_volume *volume = direct->volume;
	int r = 0;

	if (volume->generation != forked_generation()) {
		context_make_cached(direct, atomic_load(&volume->cached));
		volume->cache = NULL;
		volume->pages = NULL;
		volume->route = NULL;
		volume->window = NULL;
		volume->generation = forked_generation();
	}
	if (!volume->cache)
		r = chunk_cache_new((size_t)1 << direct->version.index->chunk_log, &volume->cache, err);
	if (r == 0 && !volume->pages)
		r = page_cache_new(&volume->pages, err);
	if (r == 0 && !volume->route && volume->array->count > 1)
		r = route_new(volume->array->count, &volume->route, err);
	if (r == 0 && !volume->window)
		r = context_make_window(direct, err);
	if (r == 0 && volume->window && members_are_redundant(&direct->version.index->members))
		window_allow_hedges(volume->window);
	return r;
}

int context_new(struct direct *direct, struct context **ret, struct error *err)
{
	struct context *context = calloc(1, sizeof(*context));
	int r;

	if (!context)
		return error_no_memory(err);
	context->direct = direct;
	context->key = direct->key;
	forked_call_in_child(context_in_child);
	forked_lock();
	context_adopt_all();
	context_look_at_kept();
	r = context_make_caches(direct, err);
	if (r == 0) {
		context->cached = cached_use(atomic_load(&direct->volume->cached));
		context->may_leave = context->cached || members_are_redundant(&direct->version.index->members);
		context->all_next = all;
		context->all_link = &all;
		if (all)
			all->all_link = &context->all_next;
		all = context;
	}
	forked_unlock();
	if (r < 0) {
		free(context);
		return r;
	}
	*ret = context;
	return 0;
}

/* --- of this thread --- */

/* Drops this thread's contexts of versions that are closed. */
static void context_sweep(struct context_thread *thread)
{
	struct context **link = &thread->contexts, *context;

	while ((context = *link)) {
		if (!atomic_load(&context->is_dead)) {
			link = &context->next;
			continue;
		}
		*link = context->next;
		forked_lock();
		context_drop(context);
		forked_unlock();
	}
}

static int context_add(struct context_thread *thread, struct direct *direct, struct context **ret, struct error *err)
{
	struct context *context = NULL;
	int r = context_watch(thread, err);

	if (r < 0)
		return r;
	context_sweep(thread);
	r = context_new(direct, &context, err);
	if (r < 0)
		return r;
	context->is_busy = true;
	context->next = thread->contexts;
	thread->contexts = context;
	*ret = context;
	return 0;
}

int context_enter(struct direct *direct, struct context **ret, struct error *err)
{
	struct context_thread *thread = &context_thread;
	uint64_t generation = forked_generation();

	if (thread->generation != generation)
		*thread = (struct context_thread){ .generation = generation };
	for (struct context *context = thread->contexts; context; context = context->next)
		if (context->key == direct->key && !context->is_busy) {
			context->is_busy = true;
			*ret = context;
			return 0;
		}
	return context_add(thread, direct, ret, err);
}

void context_leave(struct context *context)
{
	context->is_busy = false;
}

void context_tell(void)
{
	struct context *context = context_thread.contexts;

	if (!context || context_thread.generation != forked_generation())
		return;
	forked_lock();
	for (; context; context = context->next)
		if (!atomic_load(&context->is_dead))
			context_report(context);
	forked_unlock();
}

/* --- reading --- */

static struct engine_setup context_setup(const struct context *context, unsigned depth)
{
	return (struct engine_setup){ .poll_fd = -1,
				      .wake = -1,
				      .volume_fds = context->direct->volume->array->fds,
				      .member_count = context->direct->volume->array->fd_count,
				      .depth = depth,
				      .moves = context->depth > 0,
				      .is_freed_elsewhere = true };
}

static unsigned context_depth(const struct context *context)
{
	return context->depth ? context->depth : CONTEXT_DEPTH;
}

static void context_make_many(struct context *context, bool has_ring)
{
	const struct engine_setup setup = context_setup(context, context_depth(context));

	context->engines.many = engines_make_many(&setup, has_ring);
}

static int context_make_engines(struct context *context, bool many, struct error *err)
{
	const struct engine_setup setup = context_setup(context, 1);
	int r = 0;

	if (!context->engines.one)
		r = pool_new(&setup, &context->engines.one, err);
	if (r < 0 || !many || context->engines.has_tried_many)
		return r;
	context->engines.has_tried_many = true;
	context_make_many(context, true);
	return 0;
}

/* Drops a ring that the program closed. No read is in flight, except ones that were left to the device. */
static void context_replace_ring(struct context *context)
{
	if (!context->engines.many || engine_is_open(context->engines.many))
		return;
	if (context->queue.left) {
		context_lose_ring(context);
		return;
	}
	engine_free(context->engines.many);
	context->engines.many = NULL;
	context->engines.has_tried_many = false;
}

/* A forked child must not share memory that the device writes to: either side's writes would copy pages. */
static int context_open_queue(struct context *context, const struct queue_client *client, struct error *err)
{
	static const struct reader_options options = { .verify = true, .wait = true, .deadline = CONTEXT_TIMEOUT };
	const struct direct_volume *volume = context->direct->volume;
	const unsigned depth = context_depth(context);
	const struct queue_setup setup = { .client = client,
					   .reader = { .options = &options,
						       .geometry = volume->array->geometry,
						       .cache = volume->cache,
						       .pages = volume->pages,
						       .route = volume->route,
						       .window = volume->window,
						       .cached = context->cached,
						       .counters = &context->counters },
					   .depth = depth,
					   .spare = context->may_leave ? depth : 0,
					   .is_unshared = true };

	return queue_open(&context->queue, &setup, err);
}

int context_start(struct context *context, const struct queue_client *client, bool many, unsigned depth,
		  struct error *err)
{
	struct engine *engine;
	int r;

	context->depth = depth;
	context_renew_cached(context);
	if (context->direct->link && context->direct->volume->window)
		window_divide(context->direct->volume->window, link_sharers(context->direct->link));
	r = context->queue.client ? 0 : context_open_queue(context, client, err);
	if (many)
		context_replace_ring(context);
	if (r == 0)
		r = context_make_engines(context, many, err);
	if (r < 0)
		return r;
	engine = many && context->engines.many ? context->engines.many : context->engines.one;
	context->queue.reader.engine = engine;
	/* A read that a thread makes cannot be left: no thread could take it back after the context. */
	context->queue.watches = context->may_leave && engine->ops->wind_up;
	return 0;
}

/* Lets the volume go on with the cache that another daemon lends: the former one's table does not change any more.
 * Under the lock. */
static void context_follow_daemon(struct direct_volume *volume, struct view *view)
{
	struct cached *former = atomic_load(&volume->cached), *next = NULL;

	if (!former || cached_borrow(view, former->member, &next, NULL) < 0) {
		view_return(view); /* engines know of no cache, or there is no memory */
	} else if (view_follow(view, former->view)) {
		atomic_store(&volume->cached, next);
		cached_free(former);
	} else {
		cached_free(next);
	}
}

void context_renew_cached(struct context *context)
{
	struct direct_volume *volume = context->direct->volume;
	struct view *view = context->direct->link ? link_take_view(context->direct->link) : NULL;
	struct queue *queue = &context->queue;

	if (!view && atomic_load_explicit(&volume->cached, memory_order_relaxed) == context->cached)
		return;
	forked_lock();
	if (view)
		context_follow_daemon(volume, view);
	if (!queue->reading && !queue->left) {
		cached_free(context->cached);
		context->cached = cached_use(atomic_load(&volume->cached));
		queue->reader.setup.cached = context->cached;
		if (context->engines.many && engine_is_open(context->engines.many))
			engine_renew(context->engines.many);
	}
	forked_unlock();
}

void context_wind_up(struct context *context)
{
	if (!context_take_back(context->engines.lost))
		return;
	engine_free(context->engines.lost);
	context->engines.lost = NULL;
}

void context_lose_ring(struct context *context)
{
	context->engines.lost = context->engines.many;
	context->queue.watches = false;
	context_make_many(context, false);
	context->queue.reader.engine = context->engines.many ? context->engines.many : context->engines.one;
	context_wind_up(context);
}

void context_check_ring(struct context *context)
{
	if (context->queue.reader.engine == context->engines.many && !engine_is_open(context->engines.many))
		context_lose_ring(context);
}
