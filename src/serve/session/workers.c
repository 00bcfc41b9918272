/* SPDX-License-Identifier: MIT */
/* Gives each worker its handlers, queues and CPU. */
#include "serve/session/workers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/step.h"
#include "serve/request/content.h"
#include "serve/session/ops.h"
#include "serve/successor/crash.h"
#include "serve/worker/worker.h"
#include "supervisor/keep.h"

#define WORKERS_FIRST 100000000 /* ns in which a worker reads its first requests */

static int workers_create_one(struct workers *workers, unsigned number, struct error *err)
{
	struct serve *serve = workers->serve;
	bool ring = serve->machine.ring && number < serve->machine.cpus.workers;
	size_t most = ring ? serve->machine.cpus.possible : 0;
	auto_free uint16_t *numbers = calloc(most + 1, sizeof(*numbers)), *depths = calloc(most + 1, sizeof(*depths));
	struct channel_queues queues = { .numbers = numbers, .depths = depths };
	struct worker_setup setup = {
		.serve = serve,
		.handle = ops_handle,
		.start = crash_name,
		.number = number,
		.session_fd = serve->mount_fd,
		.clone = ring ? -1 : keep_take(serve->keep, "clone.%u", number),
		.volume = serve->volume.array,
		.uring = serve->machine.uring,
		.blocks = serve->machine.blocks,
		.adopts = serve->adopts,
		.cpu = -1,
		.slots = serve->machine.slots,
		.started = &workers->started,
		.received = &workers->received,
		.ended = &workers->ended,
	};
	int r;

	if (!numbers || !depths)
		return error_no_memory(err);
	if (ring) {
		queues.count = cpus_queues(&serve->machine.cpus, number, numbers);
		for (unsigned i = 0; i < queues.count; i++)
			depths[i] = (uint16_t)cpus_depth(&serve->machine.cpus, numbers[i]);
		setup.queues = &queues;
		setup.cpu = serve->machine.cpus.own[number];
	}
	r = worker_new(&setup, &serve->workers[number], err);
	if (r < 0)
		return r;
	generations_register(&serve->generations, &serve->workers[number]->section);
	return content_open(serve->workers[number], err);
}

int workers_create(struct workers *workers, struct serve *serve, struct error *err)
{
	int r;

	workers->serve = serve;
	sem_init(&workers->started, 0, 0);
	sem_init(&workers->received, 0, 0);
	serve->workers = calloc(serve->worker_count, sizeof(*serve->workers));
	if (!serve->workers)
		return error_no_memory(err);
	for (unsigned i = 0; i < serve->worker_count; i++) {
		r = workers_create_one(workers, i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int workers_start(struct workers *workers, struct error *err)
{
	struct serve *serve = workers->serve;
	int r;

	for (; workers->running < serve->worker_count; workers->running++) {
		r = worker_start(serve->workers[workers->running], err);
		if (r < 0)
			return r;
	}
	for (unsigned i = 0; i < serve->worker_count; i++)
		while (sem_wait(&workers->started) < 0)
			continue;
	for (unsigned i = 0; i < serve->worker_count; i++)
		if (!serve->workers[i]->has_engine)
			return error_set(err, -EIO, "worker %u did not start: %s", i,
					 serve->workers[i]->failure.reason);
	return 0;
}

/* A worker that is in its first handler for long has read a request, before which the kernel gives out interrupts. */
void workers_await_requests(struct workers *workers)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WORKERS_FIRST;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	while (sem_timedwait(&workers->received, &until) < 0 && errno == EINTR)
		continue;
}

void workers_look(struct workers *workers)
{
	for (unsigned i = 0; i < workers->serve->worker_count; i++)
		worker_look(workers->serve->workers[i]);
}

static void workers_check_worker(struct worker *worker, int64_t now)
{
	uint64_t unique = recovery_hand_unique(worker->serve->recovery, worker->number);
	int most = step_number("DATASETFS_PULSE", WORKERS_PULSE);

	if (!unique || unique != worker->pulse.unique) {
		worker->pulse = (struct worker_pulse){ unique, now };
		return;
	}
	if (now - worker->pulse.since < most * INT64_C(1000000000))
		return;
	log_err("worker %u has been working on one request for %d s, the server ends", worker->number, most);
	recovery_mark_crash(worker->serve->recovery, worker->number);
	abort();
}

void workers_check_pulse(struct workers *workers)
{
	struct serve *serve = workers->serve;
	int64_t now = clock_now();

	for (unsigned i = 0; !serve->machine.blocks && i < serve->worker_count; i++)
		workers_check_worker(serve->workers[i], now);
}

void workers_report_idle(const struct serve *serve)
{
	/* Not counting the one on /dev/fuse beside the ring. */
	unsigned serving = serve->worker_count - serve->machine.ring;
	const char *why = "FUSE over io_uring was turned off while the mount came up";

	if (serve->options.workers <= serving)
		return;
	if (serve->machine.ring)
		why = "FUSE over io_uring has at most one for each CPU, channel=dev takes more";
	else if (!serve->machine.uring)
		why = "there are no more without io_uring";
	log_warn("workers=%u: %u serve, %s", serve->options.workers, serving, why);
}

int workers_join(struct workers *workers, struct error *err)
{
	const struct timespec deadline = thread_deadline();
	struct serve *serve = workers->serve;
	int r = 0;

	while (workers->running) {
		struct worker *worker = serve->workers[--workers->running];

		if (!thread_join_until(&worker->thread, &deadline)) {
			workers->is_stuck = true;
			continue;
		}
		if (worker->failure.code < 0)
			r = error_set(err, worker->failure.code, "worker %u: %.400s", worker->number,
				      worker->failure.reason);
	}
	return r;
}

int workers_check_queues(const struct workers *workers, struct error *err)
{
	const struct serve *serve = workers->serve;

	for (unsigned i = 0; serve->machine.ring && i < serve->machine.cpus.workers; i++)
		if (atomic_load(&serve->workers[i]->failed))
			return error_set(err, -EIO, "it cannot go on: %.400s", serve->workers[i]->failure.reason);
	return 0;
}

bool workers_are_stuck(const struct workers *workers)
{
	const struct serve *serve = workers->serve;
	bool is_stuck = workers->is_stuck;

	for (unsigned i = 0; !is_stuck && serve && serve->workers && i < serve->worker_count && serve->workers[i]; i++)
		is_stuck = serve->workers[i]->is_stuck;
	return is_stuck;
}

void workers_stop(struct workers *workers)
{
	for (unsigned i = 0; i < workers->running; i++)
		worker_stop(workers->serve->workers[i]);
}

void workers_leave(struct workers *workers)
{
	for (unsigned i = 0; i < workers->running; i++)
		worker_leave(workers->serve->workers[i]);
}

void workers_free(struct workers *workers)
{
	struct serve *serve = workers->serve;

	for (unsigned i = 0; serve && serve->workers && i < serve->worker_count && serve->workers[i]; i++) {
		content_close(serve->workers[i]);
		worker_free(serve->workers[i]);
	}
	if (serve) {
		free(serve->workers);
		sem_destroy(&workers->received);
		sem_destroy(&workers->started);
	}
	wake_close(&workers->ended);
}
