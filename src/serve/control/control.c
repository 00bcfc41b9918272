/* SPDX-License-Identifier: MIT */
/* A queue of jobs, the thread that does them one after the other, and the watch on the volume's current version. */
#include "serve/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "datasetfs/control.h"
#include "fuse/invalidate.h"
#include "serve/control/doubt.h"
#include "serve/control/prune.h"
#include "serve/control/reopen.h"
#include "serve/control/switch.h"
#include "serve/opening/mounted.h"
#include "serve/opening/open.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"
#include "serve/serve.h"

#define LISTING_VALID INT64_C(50000000) /* ns that the kernel has to take a listing of versions over */

/* A request in work. Made by its worker, then the control thread's, then the worker's again. */
struct control_job {
	struct worker_task task;
	struct worker *worker;
	struct channel_request *request;
	struct control_switch command; /* becomes the answer */
	int64_t since; /* when it came; ns, monotonic */
	int result;
	struct control_job *next;
};

struct control {
	struct serve *serve;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* jobs, ending */
	struct control_job *jobs, **jobs_end;
	bool ending;
	_Atomic int64_t listed; /* when the kernel is to forget the listing of versions, ns; 0: it has none */
	/* the thread's: */
	uint8_t followed[32]; /* SHA-256 of the catalogue that was acted upon: a sequence may be given twice */
	uint8_t pointed[16]; /* UUID of the version that was current in it */
};

/* ---- commands ---- */

static int control_check_command(const struct control_switch *command, struct error *err)
{
	if (command->flags & ~(CONTROL_PREPARE | CONTROL_BY_UUID))
		return error_set(err, -EINVAL, "command with unknown flags %#x", command->flags);
	if (!memchr(command->label, 0, sizeof(command->label)) ||
	    !memchr(command->if_current, 0, sizeof(command->if_current)))
		return error_set(err, -EINVAL, "command with a label that does not end");
	return 0;
}

static int control_check_current(struct control *control, const struct control_switch *command, struct error *err)
{
	const char *current = serve_current(control->serve)->version.label;

	if (!*command->if_current || !strcmp(command->if_current, current))
		return 0;
	return error_set(err, -ECANCELED, "the mount serves '%s', expected '%s'", current, command->if_current);
}

static uint64_t control_us_since(int64_t then)
{
	return (uint64_t)(clock_now() - then) / 1000;
}

/* since: what the caller waits for begins with the queue. */
static int control_switch(struct control *control, struct control_switch *command, int64_t since,
			  struct error *err)
{
	struct open_wish wish = { .label = command->label };
	struct generation *generation;
	int64_t start;
	int r;

	r = control_check_current(control, command, err);
	if (r < 0)
		return r;
	if (command->flags & CONTROL_BY_UUID)
		wish = (struct open_wish){ .uuid = command->uuid };
	r = open_version(control->serve, &wish, &generation, err);
	if (r < 0)
		return r;
	command->prepare_us = control_us_since(since);
	start = clock_now();
	if (command->flags & CONTROL_PREPARE)
		control->serve->generations.prepared = generation;
	else
		r = switch_to(control->serve, generation, err);
	command->switch_us = control_us_since(start);
	memcpy(command->label, generation->version.label, sizeof(command->label));
	memcpy(command->uuid, generation->version.uuid, sizeof(command->uuid));
	command->sequence = generation->sequence;
	return r;
}

/* ---- the thread ---- */

static int control_do_switch(struct control *control, struct control_job *job)
{
	struct error err = { 0 };
	int r;

	r = control_check_command(&job->command, &err);
	if (r == 0 && caller_is_gone(job->request))
		r = error_set(&err, -EINTR, "its process was killed");
	if (r == 0)
		r = control_switch(control, &job->command, job->since, &err);
	snprintf(job->command.reason, sizeof(job->command.reason), "%s", r < 0 ? err.reason : "");
	return r;
}

static void control_do(struct control *control, struct control_job *job)
{
	job->result = control_do_switch(control, job);
	worker_post(job->worker, &job->task); /* the job is gone */
}

/* The current version, once when it became that: a switch by hand is not overruled by any other commit. Else the version
 * that is served, where compaction put it. NULL: neither. */
static const struct version *control_goal(const struct control *control, const struct catalogue *catalogue)
{
	const struct generation *served = serve_current(control->serve);
	const struct version *current = catalogue_current(catalogue), *copy;

	if (current && memcmp(current->uuid, control->pointed, sizeof(control->pointed)) != 0)
		return current;
	copy = catalogue_by_uuid(catalogue, served->version.uuid);
	return copy && copy->sequence != served->sequence ? copy : NULL;
}

static int control_go(struct control *control, const struct version *goal, struct error *err)
{
	struct open_wish wish = { .uuid = goal->uuid };
	struct generation *generation;
	int r = open_version(control->serve, &wish, &generation, err);

	return r < 0 ? r : switch_to(control->serve, generation, err);
}

static int control_act(struct control *control, const struct superblock *super, const struct catalogue *catalogue,
		       struct error *err)
{
	const struct version *current = catalogue_current(catalogue), *goal = control_goal(control, catalogue);
	int r = goal ? control_go(control, goal, err) : 0;

	if (r < 0)
		return r;
	memcpy(control->followed, super->catalogue_sha256, sizeof(control->followed));
	if (current)
		memcpy(control->pointed, current->uuid, sizeof(control->pointed));
	return 0;
}

static int control_look(struct control *control, struct error *err)
{
	uint64_t seen = atomic_load(&control->serve->newest);
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = superblock_find(&control->serve->volume->source, &super, err);

	if (r == 0)
		r = mounted_check(control->serve, &super, seen, err);
	if (r < 0 || !memcmp(super.catalogue_sha256, control->followed, sizeof(control->followed)))
		return r;
	r = mounted_read(control->serve, &super, &catalogue, err);
	if (r == 0)
		r = control_act(control, &super, &catalogue, err);
	catalogue_free(&catalogue);
	return r;
}

static void control_follow(struct control *control)
{
	static struct log_limit limit = { .burst = 2 };
	struct error err = { 0 };
	unsigned held;

	if (control_look(control, &err) < 0 && log_allow(&limit, &held))
		log_error(&err, "cannot follow the volume's current version, trying again");
}

static struct control_job *control_next(struct control *control, bool *ret_ending)
{
	struct control_job *job;

	pthread_mutex_lock(&control->lock);
	job = control->jobs;
	if (job && !(control->jobs = job->next))
		control->jobs_end = &control->jobs;
	*ret_ending = control->ending;
	pthread_mutex_unlock(&control->lock);
	return job;
}

/* The kernel keeps a listing for ever; the volume's versions change. */
static void control_forget_listing(struct control *control)
{
	int64_t listed = atomic_load(&control->listed);
	struct error err = { 0 };

	/* Another listing may have come meanwhile: later. */
	if (!listed || clock_now() < listed || !atomic_compare_exchange_strong(&control->listed, &listed, 0))
		return;
	if (invalidate_inode(control->serve->mount_fd, NODE_VERSIONS, &err) < 0)
		log_debug("%s", err.reason);
}

/* Of two times, 0 being never. */
static int64_t control_first(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static void control_sleep(const struct control *control, int64_t until)
{
	int64_t left = (until - clock_now()) / 1000000;

	wake_wait(&control->serve->wake, until ? (left > 0 ? (int)left + 1 : 0) : -1);
}

static void *control_main(void *argument)
{
	struct control *control = argument;
	int64_t period = (int64_t)control->serve->options.follow * 1000000000;
	int64_t look = period ? clock_now() + period : 0, prune;
	struct control_job *job;
	bool ending;

	for (;;) {
		while ((job = control_next(control, &ending)))
			control_do(control, job);
		if (ending)
			return NULL;
		if (look && clock_now() >= look) {
			control_follow(control);
			look = clock_now() + period;
		}
		reopen_settle(control->serve); /* first: the others read the volume */
		doubt_settle(control->serve);
		control_forget_listing(control);
		prune = prune_settle(control->serve);
		generations_reap(&control->serve->generations);
		control_sleep(control, control_first(control_first(look, prune), atomic_load(&control->listed)));
	}
}

void control_listed(struct control *control)
{
	atomic_store(&control->listed, clock_now() + LISTING_VALID);
	wake_up(&control->serve->wake);
}

int control_start(struct serve *serve, struct error *err)
{
	struct control *control = calloc(1, sizeof(*control));
	int r;

	if (!control)
		return error_set(err, -ENOMEM, "no memory for the control thread");
	control->serve = serve;
	memcpy(control->pointed, serve_current(serve)->version.uuid, sizeof(control->pointed));
	control->jobs_end = &control->jobs;
	pthread_mutex_init(&control->lock, NULL);
	serve->control = control;
	r = pthread_create(&control->thread, NULL, control_main, control);
	if (r)
		return error_set(err, -r, "cannot start the control thread: %s", strerror(r));
	control->running = true;
	return 0;
}

void control_stop(struct control *control)
{
	if (!control)
		return;
	if (control->running) {
		pthread_mutex_lock(&control->lock);
		control->ending = true;
		pthread_mutex_unlock(&control->lock);
		wake_up(&control->serve->wake);
		pthread_join(control->thread, NULL);
	}
	pthread_mutex_destroy(&control->lock);
	free(control);
}

/* ---- the worker's side ---- */

static void control_answer_switch(struct worker_task *task)
{
	struct control_job *job = (struct control_job *)task; /* its first member */
	struct fuse_ioctl_out out = { .result = job->result };
	uint8_t *payload = job->request->payload;

	memcpy(payload, &out, sizeof(out));
	memcpy(payload + sizeof(out), &job->command, sizeof(job->command));
	job->worker->commands--;
	reply_data(job->worker, job->request, payload, sizeof(out) + sizeof(job->command));
	free(job);
}

static void control_queue(struct control *control, struct control_job *job)
{
	pthread_mutex_lock(&control->lock);
	*control->jobs_end = job;
	control->jobs_end = &job->next;
	pthread_mutex_unlock(&control->lock);
	wake_up(&control->serve->wake);
}

/* -ENOTTY: not a command. -EBUSY: a worker must keep a slot for other requests. */
static int control_check_request(const struct worker *worker, const struct request *wire)
{
	const struct fuse_ioctl_in *in = &wire->in.ioctl;

	if (in->cmd != CONTROL_IOC_SWITCH || wire->rest_length < sizeof(struct control_switch) ||
	    in->out_size < sizeof(struct control_switch))
		return -ENOTTY;
	return worker->visits + worker->commands < worker->serve->jobs ? 0 : -EBUSY;
}

void control_ioctl(struct worker *worker, struct channel_request *request)
{
	int r = control_check_request(worker, &request->wire);
	struct error err = { 0 };
	struct control_job *job = r == 0 ? calloc(1, sizeof(*job)) : NULL;

	if (!job) {
		reply_error(worker, request, r < 0 ? r : -ENOMEM);
		return;
	}
	job->task.run = control_answer_switch;
	job->worker = worker;
	job->request = request;
	memcpy(&job->command, request->wire.rest, sizeof(job->command));
	job->since = clock_now();
	worker->commands++;
	/* Now: whoever has its number when it is the command's turn may be another process. */
	job->result = caller_check(worker->serve, request, &err);
	if (job->result == 0) {
		control_queue(worker->serve->control, job);
		return;
	}
	snprintf(job->command.reason, sizeof(job->command.reason), "%s", err.reason);
	control_answer_switch(&job->task);
}
