/* SPDX-License-Identifier: MIT */
/* Makes worker threads and runs their loop. */
#include "serve/worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/init.h"
#include "read/queue.h"

/* ns in which the kernel has taken apart the rings of a dead server. Until then such a ring may take the wake-up for a
 * request, which no worker would read: so all workers are woken. */
#define WORKER_SHARES INT64_C(10000000000)

/* Runs the posted tasks, in any order, as each concerns a request of its own. */
static void worker_woken(void *argument)
{
	struct worker *worker = argument;
	struct worker_task *tasks, *next;

	wake_take(&worker->wake);
	pthread_mutex_lock(&worker->tasks.lock);
	tasks = worker->tasks.first;
	worker->tasks.first = NULL;
	pthread_mutex_unlock(&worker->tasks.lock);
	for (; tasks; tasks = next) {
		next = tasks->next;
		tasks->run(tasks);
	}
}

void worker_post(struct worker *worker, struct worker_task *task)
{
	pthread_mutex_lock(&worker->tasks.lock);
	task->next = worker->tasks.first;
	worker->tasks.first = task;
	pthread_mutex_unlock(&worker->tasks.lock);
	wake_up(&worker->wake);
}

void worker_stop(struct worker *worker)
{
	atomic_store(&worker->stopping, true);
	wake_up(&worker->wake);
}

void worker_leave(struct worker *worker)
{
	atomic_store(&worker->leaving, true);
	wake_up(&worker->wake);
}

void worker_look(struct worker *worker)
{
	atomic_store(&worker->looks, true);
	wake_up(&worker->wake);
}

static int worker_engine(struct worker *worker, struct engine **ret, struct error *err)
{
	struct engine_setup setup = {
		.poll_fd = worker->channel->poll_fd,
		.wake = worker->wake.fd,
		.woken = worker_woken,
		.woken_argument = worker,
		.volume_fds = worker->setup.volume->fds,
		.member_count = worker->setup.volume->fd_count,
		.depth = worker->setup.blocks ? 1 : (unsigned)worker->slots,
		.has_commands = worker->channel->commands,
		.commands = worker->setup.session_fd,
		.command_depth = worker->channel->commands,
	};
	int r;

	r = worker->setup.uring ? ring_new(&setup, ret, err) : pool_new(&setup, ret, err);
	if (r == 0 && worker->setup.adopts)
		(*ret)->shares_until = clock_now() + WORKER_SHARES;
	return r;
}

int worker_probe_ring(const struct array_source *volume, bool commands, struct error *err)
{
	struct engine_setup setup = {
		.poll_fd = -1,
		.wake = -1,
		.volume_fds = volume->fds,
		.member_count = volume->count,
		.depth = 1,
		.has_commands = commands,
		.commands = -1,
		.command_depth = 1,
	};
	struct engine *engine;
	int r = ring_new(&setup, &engine, err);

	if (r == 0)
		engine_free(engine);
	return r;
}

static bool worker_is_to_end(const struct worker *worker)
{
	return atomic_load(&worker->stopping) || (atomic_load(&worker->leaving) && !worker->channel->busy);
}

/* Lets the next wait last for limit ns at most, 0: for ever, or for less if the READs want to be looked at before. */
static void worker_limit(struct worker *worker, int64_t limit)
{
	int64_t pause = queue_pause(worker->queue);

	worker->engine->timeout = pause && (!limit || pause < limit) ? pause : limit;
}

/* Takes requests that were there when the worker started. */
static int worker_receive_first(struct worker *worker, bool *ret_drained, struct error *err)
{
	int r;

	do
		r = channel_receive(worker->channel, ret_drained, err);
	while (r == 0 && worker->channel->has_more);
	return r;
}

/* Serves until the filesystem is unmounted, or worker_stop() or worker_leave() is called. While all slots are taken,
 * requests wait in the kernel and only device reads may end the wait. */
static int worker_serve(struct worker *worker, struct error *err)
{
	bool drained = false, readable = true, is_leaving;
	int r = worker_receive_first(worker, &drained, err);

	sem_post(worker->setup.received);
	while (r == 0 && !worker_is_to_end(worker)) {
		is_leaving = atomic_load(&worker->leaving);
		readable = atomic_exchange(&worker->looks, false) || readable;
		if ((readable || !drained) && !is_leaving)
			r = channel_receive(worker->channel, &drained, err);
		worker->engine->polling = drained && !is_leaving;
		placement_update(&worker->placement, worker->engine->completions);
		worker_limit(worker, 0);
		if (r == 0)
			r = engine_wait(worker->engine, is_leaving || !worker->channel->has_more, &readable, err);
	}
	return r < 0 ? r : error_set(err, -ENODEV, "stopped");
}

static void worker_wait(struct worker *worker, int64_t limit)
{
	struct error err = { 0 };
	bool readable;

	worker_limit(worker, limit);
	if (engine_wait(worker->engine, true, &readable, &err) == 0)
		return;
	log_error(&err, "worker %u cannot wait for its device reads", worker->number);
	abort(); /* the device would write to freed memory */
}

/* Waits THREAD_LINGER seconds at most for reads of answered requests, as a device may never complete them. */
static void worker_linger(struct worker *worker)
{
	int64_t until = clock_now() + THREAD_LINGER * INT64_C(1000000000);

	while (worker->queue->left && clock_now() < until)
		worker_wait(worker, THREAD_LINGER * INT64_C(1000000000));
	worker->is_stuck = worker->queue->left;
}

/* Waits for device reads, which still write into our buffers. It sets `ending`, as over io_uring requests keep coming:
 * among overlapping readers one request would always be in progress. */
static void worker_drain(struct worker *worker)
{
	worker->engine->polling = false;
	worker->channel->ending = true;
	read_give_up(&worker->queue->reader);
	while (worker->channel->busy)
		worker_wait(worker, 0);
	worker_linger(worker);
}

static int worker_run(struct worker *worker, struct error *err)
{
	int r = placement_start(&worker->placement, worker->setup.cpu, err);

	if (r == 0)
		r = worker_engine(worker, &worker->engine, err);
	if (r == 0) {
		worker->queue->reader.engine = worker->engine;
		worker->setup.start(worker->number);
		r = channel_start(worker->channel, worker->engine, err);
	}
	worker->has_engine = r == 0;
	sem_post(worker->setup.started);
	if (r == 0)
		r = worker_serve(worker, err);
	if (worker->engine)
		worker_drain(worker);
	return r;
}

/* A failed start is logged by the thread that waits for it. An aborted connection ends every worker and is logged once,
 * at the end. */
static void worker_fail(struct worker *worker)
{
	if (worker->has_engine && worker->failure.code != -ECONNABORTED)
		log_error(&worker->failure, "worker %u ends", worker->number);
	atomic_store(&worker->failed, true);
}

static void worker_main(void *argument)
{
	struct worker *worker = argument;

	if (worker_run(worker, &worker->failure) == -ENODEV)
		worker->failure.code = 0;
	else
		worker_fail(worker);
	if (!worker->is_stuck)
		engine_free(worker->engine);
	placement_end(&worker->placement);
	wake_up(worker->setup.ended);
}

static int worker_channel(struct worker *worker, struct error *err)
{
	const struct channel_queues *queues = worker->setup.queues;
	struct channel_setup setup = {
		.handle = worker->setup.handle,
		.context = worker,
		.session_fd = worker->setup.session_fd,
		.clone = worker->setup.clone,
		.slots = (unsigned)worker->slots,
		.payload_size = INIT_READ_MAX,
	};

	return queues ? channel_ring_new(&setup, queues, &worker->channel, err) :
			channel_dev_new(&setup, &worker->channel, err);
}

int worker_new(const struct worker_setup *setup, struct worker **ret, struct error *err)
{
	struct worker *worker = aligned_alloc(_Alignof(struct worker), sizeof(*worker));
	int r;

	if (!worker)
		return error_no_memory(err);
	memset(worker, 0, sizeof(*worker));
	worker->setup = *setup;
	worker->serve = setup->serve;
	worker->number = setup->number;
	pthread_mutex_init(&worker->tasks.lock, NULL);
	worker->slots = setup->queues ? channel_queues_slots(setup->queues) : setup->slots;
	r = wake_open(&worker->wake, err);
	if (r == 0)
		r = worker_channel(worker, err);
	if (r < 0) {
		worker_free(worker);
		return r;
	}
	*ret = worker;
	return 0;
}

int worker_start(struct worker *worker, struct error *err)
{
	char what[32];
	const struct thread_setup setup = { .run = worker_main, .argument = worker, .what = what };

	snprintf(what, sizeof(what), "worker %u", worker->number);
	return thread_start(&worker->thread, 1, &setup, err);
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	channel_free(worker->channel);
	wake_close(&worker->wake);
	pthread_mutex_destroy(&worker->tasks.lock);
	free(worker);
}
