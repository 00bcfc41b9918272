/* SPDX-License-Identifier: MIT */
/* The engine without io_uring, which containers refuse: a thread for each read in flight calls preadv(2). A thread that
 * has read wakes the owner, who waits in epoll(7). Without engine_setup.wake the owner waits for a condition instead,
 * and the engine has no descriptor that a program could close.
 *
 * A pool of depth 1 has no threads: the owner reads, which is the cheapest where it would only wait for the read. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "io/engine.h"

#define POOL_THREADS 64u /* and as many for reads that were left, which silent members keep */

struct pool {
	struct engine engine;
	struct engine_setup setup; /* its volume_fds are the pool's own */
	int *fds;
	int epoll; /* watches wake, and poll_fd while is_polling; -1 without wake */
	bool is_polling;
	unsigned in_flight;
	struct io_read *begun, **begun_end; /* engine.kept reads */
	unsigned thread_count; /* the owner's, like all above and the threads */
	_Atomic(struct io_read *) done; /* with results */
	_Atomic bool is_asleep;         /* the owner waits, or is about to: a thread that has read wakes it */
	sem_t work;                     /* wakes an idle thread */
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t some_done;
	struct io_read *todo, **todo_end;
	unsigned idle, waiting; /* idle threads; reads in todo */
	unsigned woken;         /* idle threads that were woken and have not run yet */
	bool is_stopping;
	struct thread threads[2 * POOL_THREADS];
};

/* ---- threads ---- */

static void pool_wake_owner(struct pool *pool)
{
	if (pool->epoll >= 0) {
		wake_up(&(struct wake){ .fd = pool->setup.wake });
		return;
	}
	pthread_mutex_lock(&pool->lock);
	pthread_cond_signal(&pool->some_done);
	pthread_mutex_unlock(&pool->lock);
}

static void pool_carry_out(struct pool *pool, struct io_read *read)
{
	read->result = io_read_now(pool->fds, read);
	read->next = atomic_load(&pool->done);
	while (!atomic_compare_exchange_weak(&pool->done, &read->next, read))
		continue;
	if (atomic_exchange(&pool->is_asleep, false))
		pool_wake_owner(pool);
}

/* Returns how many idle threads to wake: one for each read that waits, as on a busy machine each comes late. Requires
 * the lock. */
static unsigned pool_to_wake(struct pool *pool)
{
	unsigned wanted = pool->waiting < pool->idle ? pool->waiting : pool->idle, woken = pool->woken;

	if (wanted <= woken)
		return 0;
	pool->woken = wanted;
	return wanted - woken;
}

/* Takes a read to do, or waits and returns NULL. Requires the lock, which it gives up meanwhile. */
static struct io_read *pool_take(struct pool *pool)
{
	struct io_read *read = list_take(pool->todo, pool->todo_end, next);

	if (read) {
		pool->waiting--;
		return read;
	}
	pool->idle++;
	pthread_mutex_unlock(&pool->lock);
	while (sem_wait(&pool->work) < 0)
		continue;
	pthread_mutex_lock(&pool->lock);
	pool->idle--;
	pool->woken -= pool->woken > 0;
	return NULL;
}

static void pool_main(void *argument)
{
	struct pool *pool = argument;
	struct io_read *read;

	pthread_mutex_lock(&pool->lock);
	while (!pool->is_stopping) {
		read = pool_take(pool);
		if (!read)
			continue;
		pthread_mutex_unlock(&pool->lock);
		pool_carry_out(pool, read);
		pthread_mutex_lock(&pool->lock);
	}
	pthread_mutex_unlock(&pool->lock);
}

static bool pool_add_thread(struct pool *pool)
{
	const struct thread_setup setup = { .run = pool_main, .argument = pool, .without_signals = true };
	bool runs = thread_start(&pool->threads[pool->thread_count], 1, &setup, NULL) == 0;

	pool->thread_count += runs;
	return runs;
}

/* Returns the most threads that there may be now. A silent member keeps those of the reads that were left with it, and
 * others replace them. */
static unsigned pool_limit(const struct pool *pool)
{
	unsigned depth = pool->setup.depth < POOL_THREADS ? pool->setup.depth : POOL_THREADS;

	return depth + (pool->engine.left < POOL_THREADS ? pool->engine.left : POOL_THREADS);
}

/* Starts a thread for each of so many reads, as far as allowed. If there is none at all, the owner reads. */
static void pool_employ(struct pool *pool, unsigned lacking)
{
	struct io_read *read;

	while (lacking && pool->thread_count < pool_limit(pool) && pool_add_thread(pool))
		lacking--;
	while (!pool->thread_count && (read = list_take(pool->todo, pool->todo_end, next))) {
		pool->waiting--;
		pool_carry_out(pool, read);
	}
}

/* Hands reads that were begun to the threads. */
static void pool_hand_over(struct pool *pool)
{
	unsigned lacking, wakes;

	pthread_mutex_lock(&pool->lock);
	if (pool->begun) {
		*pool->todo_end = pool->begun;
		pool->todo_end = pool->begun_end;
		pool->waiting += pool->engine.kept;
	}
	lacking = pool->waiting > pool->idle ? pool->waiting - pool->idle : 0;
	wakes = pool_to_wake(pool);
	pthread_mutex_unlock(&pool->lock);
	pool->begun = NULL;
	pool->begun_end = &pool->begun;
	pool->engine.kept = 0;
	while (wakes--)
		sem_post(&pool->work);
	pool_employ(pool, lacking);
}

static void pool_read(struct engine *engine, struct io_read *read)
{
	struct pool *pool = (struct pool *)engine;

	if (read->member >= pool->setup.member_count) {
		read->done(read, -ENXIO);
	} else if (pool->setup.depth == 1) {
		read->done(read, io_read_now(pool->fds, read));
	} else {
		list_append(pool->begun_end, read, next);
		engine->kept++;
		pool->in_flight++;
	}
}

/* ---- waiting ---- */

/* Watches the polled descriptor exclusively, so that an event wakes one waiting thread, or ceases to. */
static int pool_watch(struct pool *pool, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLEXCLUSIVE, .data.fd = pool->setup.poll_fd };

	if (pool->setup.poll_fd < 0 || pool->is_polling == pool->engine.polling)
		return 0;
	pool->is_polling = pool->engine.polling;
	if (epoll_ctl(pool->epoll, pool->is_polling ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, event.data.fd, &event) < 0)
		return error_errno(err, "epoll_ctl");
	return 0;
}

/* Waits for the wake, with which threads tell that they have read, and for the polled descriptor. */
static int pool_poll(struct pool *pool, bool block, bool *ret_readable, struct error *err)
{
	int limit = !block ? 0 : pool->engine.timeout ? (int)((pool->engine.timeout + 999999) / 1000000) : -1;
	struct epoll_event events[2];
	int n, r = pool_watch(pool, err);

	if (r < 0)
		return r;
	n = epoll_wait(pool->epoll, events, 2, limit);
	if (n < 0 && errno != EINTR)
		return error_errno(err, "epoll_wait");
	for (int i = 0; i < n; i++)
		if (events[i].data.fd == pool->setup.wake)
			pool->setup.woken(pool->setup.woken_argument);
		else
			*ret_readable = true;
	return 0;
}

/* Waits until a read is done, while any is in flight or the owner pauses. */
static void pool_sleep(struct pool *pool)
{
	int64_t until = clock_now() + pool->engine.timeout;
	const struct timespec limit = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
	int r = 0;

	pthread_mutex_lock(&pool->lock);
	while (atomic_load(&pool->is_asleep) && (pool->in_flight || pool->engine.pauses) && r != ETIMEDOUT)
		r = pool->engine.timeout ? pthread_cond_timedwait(&pool->some_done, &pool->lock, &limit) :
					   pthread_cond_wait(&pool->some_done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

static void pool_reap(struct engine *engine)
{
	struct pool *pool = (struct pool *)engine;
	struct io_read *read = atomic_exchange(&pool->done, NULL), *next;

	engine->completions = 0;
	for (; read; read = next) {
		next = read->next;
		pool->in_flight--;
		engine->completions++;
		read->done(read, read->result);
	}
}

static int pool_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	struct pool *pool = (struct pool *)engine;
	int r = 0;

	*ret_readable = false;
	if (pool->in_flight)
		pool_hand_over(pool);
	atomic_store(&pool->is_asleep, block);
	block = block && !atomic_load(&pool->done);
	if (pool->epoll >= 0)
		r = pool_poll(pool, block, ret_readable, err);
	else if (block)
		pool_sleep(pool);
	atomic_store(&pool->is_asleep, false);
	pool_reap(engine);
	return r;
}

/* ---- set-up and end ---- */

static void pool_free(struct engine *engine)
{
	struct pool *pool = (struct pool *)engine;

	pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->thread_count; i++)
		sem_post(&pool->work);
	thread_join_all(pool->threads, pool->thread_count);
	pthread_cond_destroy(&pool->some_done);
	sem_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	close_fd(&pool->epoll);
	free(pool->fds);
	free(pool);
}

static void pool_init(struct pool *pool)
{
	pthread_condattr_t clock;

	pool->begun_end = &pool->begun;
	pool->todo_end = &pool->todo;
	pthread_mutex_init(&pool->lock, NULL);
	sem_init(&pool->work, 0, 0);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->some_done, &clock);
	pthread_condattr_destroy(&clock);
}

static int pool_open(struct pool *pool, struct error *err)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = pool->setup.wake };

	if (!pool->fds)
		return error_no_memory(err);
	memcpy(pool->fds, pool->setup.volume_fds, pool->setup.member_count * sizeof(*pool->fds));
	if (pool->setup.wake < 0)
		return 0;
	pool->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (pool->epoll < 0)
		return error_errno(err, "epoll_create1");
	return epoll_ctl(pool->epoll, EPOLL_CTL_ADD, event.data.fd, &event) < 0 ? error_errno(err, "epoll_ctl") : 0;
}

int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = pool_read, .wait = pool_wait, .reap = pool_reap,
						.free = pool_free };
	struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return error_no_memory(err);
	pool->engine = (struct engine){ .ops = &ops, .polling = true };
	pool->setup = *setup;
	pool->epoll = -1;
	pool->fds = calloc(setup->member_count, sizeof(*pool->fds));
	pool_init(pool);
	r = pool_open(pool, err);
	if (r < 0) {
		pool_free(&pool->engine);
		return r;
	}
	*ret = &pool->engine;
	return 0;
}
