/* SPDX-License-Identifier: MIT */
/* The engine where io_uring is refused, as containers do: threads that call preadv(2), so that several reads are under
 * way. They are made as they are needed. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/wake.h"
#include "io/engine.h"

#define POOL_THREADS 8u

struct pool {
	struct engine engine;
	int *fds; /* one per member */
	uint32_t member_count;
	unsigned limit; /* threads at most */
	int wake;       /* -1 for none */
	void (*woken)(void *argument);
	void *woken_argument;
	unsigned in_flight; /* the owner's */
	struct wake done_wake;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work;
	struct io_read *todo, **todo_end;
	struct io_read *done; /* with their results */
	unsigned idle, waiting; /* threads; reads in todo */
	bool is_stopping;
	unsigned thread_count; /* the owner's, as are the threads */
	pthread_t threads[POOL_THREADS];
};

static void pool_do(struct pool *pool, struct io_read *read)
{
	ssize_t n;

	do
		n = preadv(pool->fds[read->member], read->iov, read->iov_count, (off_t)read->offset);
	while (n < 0 && (errno == EINTR || errno == EAGAIN));
	read->result = n < 0 ? -errno : (int)n;
}

/* The first read that waits, or NULL. Under the lock. */
static struct io_read *pool_take(struct pool *pool)
{
	struct io_read *read = pool->todo;

	if (!read)
		return NULL;
	pool->todo = read->next;
	if (!pool->todo)
		pool->todo_end = &pool->todo;
	pool->waiting--;
	return read;
}

/* Under the lock. The owner is woken for the first of those that it then finds. */
static void pool_give(struct pool *pool, struct io_read *read)
{
	read->next = pool->done;
	pool->done = read;
	if (!read->next)
		wake_up(&pool->done_wake);
}

static void *pool_main(void *argument)
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
		pool_do(pool, read);
		pthread_mutex_lock(&pool->lock);
		pool_give(pool, read);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* The program's signals are none of theirs. False: there is none at all. */
static bool pool_add_thread(struct pool *pool)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	if (pthread_create(&pool->threads[pool->thread_count], NULL, pool_main, pool) == 0)
		pool->thread_count++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
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
	read->next = NULL;
	pool->in_flight++;
	pthread_mutex_lock(&pool->lock);
	*pool->todo_end = read;
	pool->todo_end = &read->next;
	pool->waiting++;
	lacks_thread = pool->waiting > pool->idle && pool->thread_count < pool->limit;
	pthread_mutex_unlock(&pool->lock);
	if (!lacks_thread || pool_add_thread(pool)) {
		pthread_cond_signal(&pool->work);
		return;
	}
	pthread_mutex_lock(&pool->lock); /* no thread can be had: here and now */
	while ((read = pool_take(pool))) {
		pool_do(pool, read);
		pool_give(pool, read);
	}
	pthread_mutex_unlock(&pool->lock);
}

static bool pool_reap(struct pool *pool)
{
	struct io_read *read, *next;

	wake_take(&pool->done_wake);
	pthread_mutex_lock(&pool->lock);
	read = pool->done;
	pool->done = NULL;
	pthread_mutex_unlock(&pool->lock);
	pool->engine.completions = 0;
	for (; read; read = next) {
		next = read->next;
		pool->in_flight--;
		pool->engine.completions++;
		read->done(read, read->result);
	}
	return pool->engine.completions > 0;
}

static int pool_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	struct pool *pool = (struct pool *)engine;
	struct pollfd fds[2] = { { .fd = pool->done_wake.fd, .events = POLLIN },
				 { .fd = pool->wake, .events = POLLIN } };

	*ret_readable = false;
	if (pool_reap(pool) || (!pool->in_flight && pool->wake < 0))
		return 0;
	if (poll(fds, 2, block ? -1 : 0) < 0 && errno != EINTR)
		return error_errno(err, "poll");
	if (fds[1].revents)
		pool->woken(pool->woken_argument);
	pool_reap(pool);
	return 0;
}

/* In a child there are no threads to end. */
static void pool_forget(struct engine *engine)
{
	wake_close(&((struct pool *)engine)->done_wake);
}

static void pool_free(struct engine *engine)
{
	struct pool *pool = (struct pool *)engine;

	pthread_mutex_lock(&pool->lock);
	pool->is_stopping = true;
	pthread_cond_broadcast(&pool->work);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->thread_count; i++)
		pthread_join(pool->threads[i], NULL);
	pthread_cond_destroy(&pool->work);
	pthread_mutex_destroy(&pool->lock);
	wake_close(&pool->done_wake);
	free(pool->fds);
	free(pool);
}

int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = pool_read, .wait = pool_wait, .forget = pool_forget,
					       .free = pool_free };
	struct pool *pool = calloc(1, sizeof(*pool));
	int r;

	if (!pool)
		return error_set(err, -ENOMEM, "no memory for threads that read");
	*pool = (struct pool){ .engine = { .ops = &ops },
			       .member_count = setup->member_count,
			       .limit = setup->depth < POOL_THREADS ? setup->depth : POOL_THREADS,
			       .wake = setup->wake,
			       .woken = setup->woken,
			       .woken_argument = setup->woken_argument,
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .work = PTHREAD_COND_INITIALIZER,
			       .todo_end = &pool->todo };
	pool->fds = calloc(setup->member_count, sizeof(*pool->fds));
	r = pool->fds ? wake_open(&pool->done_wake, err) : error_set(err, -ENOMEM, "no memory for threads that read");
	if (r < 0) {
		free(pool->fds);
		free(pool);
		return r;
	}
	memcpy(pool->fds, setup->volume_fds, setup->member_count * sizeof(*pool->fds));
	*ret = &pool->engine;
	return 0;
}
