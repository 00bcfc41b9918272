/* SPDX-License-Identifier: MIT */
/* Runs queued jobs in order on a thread of its own, and in between the thread's periodic duties. */
#include "serve/control/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/program/step.h"
#include "base/thread/thread.h"
#include "serve/control/follow.h"
#include "serve/control/listing.h"
#include "serve/control/prune.h"
#include "serve/control/stale.h"
#include "serve/health/recheck.h"
#include "serve/health/rejoin.h"
#include "serve/health/reopen.h"
#include "serve/successor/crash.h"
#include "serve/successor/successor.h"

#define CONTROL_GLANCE INT64_C(10000000) /* ns */

struct control {
	struct serve *serve;
	struct thread thread;
	pthread_mutex_t lock; /* protects jobs and ending */
	struct control_job *jobs, **jobs_end;
	bool ending;
	/* Thread only: */
	struct follow follow;
	struct rejoin rejoin;
	struct recheck recheck;
	int64_t look;         /* when to check the volume's catalogue, ns, monotonic */
};

static void control_run(struct serve *serve, struct control_job *job)
{
	unsigned hand = serve->worker_count + RECOVERY_CONTROL;

	recovery_take(serve->recovery, hand, &job->request);
	if (job->run(serve, job))
		worker_post(job->worker, &job->task); /* the worker owns the job now */
	recovery_leave(serve->recovery, hand);
}

/* Runs the next job. False: there is none. *ret_ending: the mount ends, so no more jobs will come. */
static bool control_do_next(struct control *control, bool *ret_ending)
{
	struct control_job *job;

	pthread_mutex_lock(&control->lock);
	job = list_take(control->jobs, control->jobs_end, next);
	*ret_ending = control->ending;
	pthread_mutex_unlock(&control->lock);
	if (!job)
		return false;
	control_run(control->serve, job);
	return true;
}

/* The earlier of two times; 0 means never. */
static int64_t control_first(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void control_sleep(const struct control *control, int64_t until)
{
	int64_t left = (until - clock_now()) / 1000000;

	wake_wait(&control->serve->wake, until ? (left > 0 ? (int)left + 1 : 0) : -1);
}

/* Does the periodic duties. Returns when to call it again, ns, monotonic; 0: when woken. */
static int64_t control_look_after(struct control *control)
{
	struct serve *serve = control->serve;
	unsigned hand = serve->worker_count + RECOVERY_CONTROL;
	int64_t prune, listing, rejoin, recheck;

	crash_begin_duties(serve->recovery, hand);
	step("duties-begun");
	if (clock_now() >= control->look)
		control->look = follow_look(serve, &control->follow);
	reopen_settle(serve); /* first, as the others read the volume */
	rejoin = rejoin_settle(serve, &control->rejoin);
	stale_settle(serve);
	recheck = recheck_settle(serve, &control->recheck);
	listing = listing_settle(serve);
	prune = prune_settle(serve);
	generations_reap(&serve->generations);
	recovery_leave(serve->recovery, hand);
	return control_first(control_first(control_first(control->look, prune), recheck),
			     control_first(listing, rejoin));
}

static void control_main(void *argument)
{
	struct control *control = argument;
	bool ending;

	crash_name(control->serve->worker_count + RECOVERY_CONTROL);
	for (;;) {
		while (control_do_next(control, &ending))
			continue;
		if (ending)
			return;
		control_sleep(control, control_look_after(control));
	}
}

static bool control_is_ending(struct control *control)
{
	bool ending;

	pthread_mutex_lock(&control->lock);
	ending = control->ending;
	pthread_mutex_unlock(&control->lock);
	return ending;
}

bool control_await_members(struct control *control)
{
	struct serve *serve = control->serve;

	control->rejoin.when = 0;
	(void)rejoin_settle(serve, &control->rejoin);
	while (atomic_load(&serve->volume.is_widening) && !atomic_load(&serve->is_leaving) &&
	       successor_survives_server(serve) && !control_is_ending(control))
		control_sleep(control, clock_now() + CONTROL_GLANCE);
	return atomic_load(&serve->is_leaving);
}

void control_look(struct control *control)
{
	control->look = clock_now();
}

void control_submit(struct control *control, struct control_job *job)
{
	if (job->worker)
		job->request = recovery_in_hand(control->serve->recovery, job->worker->number);
	pthread_mutex_lock(&control->lock);
	list_append(control->jobs_end, job, next);
	pthread_mutex_unlock(&control->lock);
	wake_up(&control->serve->wake);
}

int control_start(struct serve *serve, struct error *err)
{
	struct control *control = calloc(1, sizeof(*control));
	const struct thread_setup setup = { .run = control_main, .argument = control, .what = "the control thread" };

	if (!control)
		return error_no_memory(err);
	control->serve = serve;
	control->jobs_end = &control->jobs;
	control->look = follow_begin(serve, &control->follow);
	rejoin_begin(serve, &control->rejoin);
	pthread_mutex_init(&control->lock, NULL);
	serve->control = control;
	return thread_start(&control->thread, 1, &setup, err);
}

bool control_stop(struct control *control)
{
	if (!control)
		return true;
	pthread_mutex_lock(&control->lock);
	control->ending = true;
	pthread_mutex_unlock(&control->lock);
	wake_up(&control->serve->wake);
	if (thread_join_soon(&control->thread))
		return true;
	log_warn("the device holds the control thread back, the daemon ends without it");
	return false;
}

void control_free(struct control *control)
{
	if (!control)
		return;
	pthread_mutex_destroy(&control->lock);
	free(control);
}
