/* SPDX-License-Identifier: MIT */
/* The engine for systems that refuse io_uring, such as containers: threads call preadv(2), so that several reads run
 * at once. Threads are created on demand. The engine has no descriptor that a program could close. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/thread/thread.h"
#include "io/engine.h"

#define POOL_THREADS 8u

struct pool {
	struct engine engine;
	int *fds; /* one per member */
	uint32_t member_count;
	unsigned limit; /* the most threads */
	unsigned in_flight; /* the owner's */
	pthread_mutex_t lock; /* protects the fields below */
	pthread_cond_t work;
	pthread_cond_t some_done;
	struct io_read *todo, **todo_end;
	struct io_read *done; /* with results */
	unsigned idle, waiting; /* idle threads; reads in todo */
	bool is_stopping;
	unsigned thread_count; /* the owner's, like threads */
	struct thread threads[POOL_THREADS];
};

/* Takes the first read in todo, or returns NULL. Requires the lock. */
static struct io_read *pool_take(struct pool *pool)
{
	struct io_read *read = list_take(pool->todo, pool->todo_end, next);

	pool->waiting -= read != NULL;
	return read;
}

/* Puts a read into done, and wakes the owner if it is the first one there. Requires the lock. */
static void pool_give(struct pool *pool, struct io_read *read)
{
	list_push(pool->done, read, next);
	if (!read->next)
		pthread_cond_signal(&pool->some_done);
}

static void pool_main(void *argument)
{
	struct pool *pool = argument;
	struct io_read *read;

	pthread_mutex_lock(&pool->lock);
	while (!pool->is_stopping) {
		read = pool_take(pool);
		if (!read) {
			pool->idle++;
			pthread_cond_wait(&pool->work, &pool->lock);
			pool->idle--;
			continue;
		}
		pthread_mutex_unlock(&pool->lock);
		read->result = io_read_now(pool->fds, read);
		pthread_mutex_lock(&pool->lock);
		pool_give(pool, read);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Starts a thread. False: there are no threads at all. */
static bool pool_add_thread(struct pool *pool)
{
	const struct thread_setup setup = { .run = pool_main, .argument = pool, .without_signals = true };

	if (thread_start(&pool->threads[pool->thread_count], &setup, NULL) == 0)
		pool->thread_count++;
	return pool->thread_count > 0;
}

static void pool_read(struct engine *engine, struct io_read *read)
{
	struct pool *pool = (struct pool *)engine;
	bool lacks_thread;

	if (read->member >= pool->member_count) {
		read->done(read, -ENXIO);
		return;
	}
	pool->in_flight++;
	pthread_mutex_lock(&pool->lock);
	list_append(pool->todo_end, read, next);
	pool->waiting++;
	lacks_thread = pool->waiting > pool->idle && pool->thread_count < pool->limit;
	pthread_mutex_unlock(&pool->lock);
	if (!lacks_thread || pool_add_thread(pool)) {
		pthread_cond_signal(&pool->work);
		return;
	}
	pthread_mutex_lock(&pool->lock); /* no thread could be started, so read here */
	while ((read = pool_take(pool))) {
		read->result = io_read_now(pool->fds, read);
		pool_give(pool, read);
	}
	pthread_mutex_unlock(&pool->lock);
}

/* Waits until a read is done, while any is in flight or the owner pauses. */
static void pool_sleep(struct pool *pool)
{
	int64_t until = clock_now() + pool->engine.timeout;
	const struct timespec limit = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
	int r = 0;

	pthread_mutex_lock(&pool->lock);
	while (!pool->done && (pool->in_flight || pool->engine.pauses) && r != ETIMEDOUT)
		r = pool->engine.timeout ? pthread_cond_timedwait(&pool->some_done, &pool->lock, &limit) :
					   pthread_cond_wait(&pool->some_done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

static void pool_reap(struct engine *engine)
{
	struct pool *pool = (struct pool *)engine;
	struct io_read *read, *next;

	pthread_mutex_lock(&pool->lock);
	read = pool->done;
	pool->done = NULL;
	pthread_mutex_unlock(&pool->lock);
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
	(void)err;
	*ret_readable = false;
	if (block)
		pool_sleep((struct pool *)engine);
	pool_reap(engine);
	return 0;
}

static void pool_free(struct engine *engine)
{
	struct pool *pool = (struct pool *)engine;

	pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	thread_join_all(pool->threads, pool->thread_count);
	pthread_cond_destroy(&pool->some_done);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	free(pool->fds);
	free(pool);
}

int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = pool_read, .wait = pool_wait, .reap = pool_reap,
						.free = pool_free };
	struct pool *pool = calloc(1, sizeof(*pool));
	pthread_condattr_t clock;

	if (pool)
		pool->fds = calloc(setup->member_count, sizeof(*pool->fds));
	if (!pool || !pool->fds) {
		free(pool);
		return error_no_memory(err);
	}
	pool->engine.ops = &ops;
	memcpy(pool->fds, setup->volume_fds, setup->member_count * sizeof(*pool->fds));
	pool->member_count = setup->member_count;
	pool->limit = setup->depth < POOL_THREADS ? setup->depth : POOL_THREADS;
	pool->todo_end = &pool->todo;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->work, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&pool->some_done, &clock);
	pthread_condattr_destroy(&clock);
	*ret = &pool->engine;
	return 0;
}
