/* SPDX-License-Identifier: MIT */
/* A queue of jobs, the thread that does them one after the other, and the watch on the volume's current version. */
#include "serve/control.h"

#include <errno.h>
#include <dirent.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "datasetfs/control.h"
#include "fuse/invalidate.h"
#include "serve/caller.h"
#include "serve/change.h"
#include "serve/dir.h"
#include "serve/doubt.h"
#include "serve/inside.h"
#include "serve/node.h"
#include "serve/reopen.h"
#include "serve/reply.h"

#define VERSION_VALID 9u                /* seconds that a label stays what it was: it may be published anew */
#define VERSION_SHORT 1u                /* and when the volume was not asked; both together are 10 */
#define LISTING_VALID INT64_C(50000000) /* ns that the kernel has to take a listing of versions over */

enum control_kind { CONTROL_SWITCHING, CONTROL_LOOKING_UP, CONTROL_LISTING };

/* A request in work. Made by its worker, then the control thread's, then the worker's again. */
struct control_job {
	struct worker_task task;
	struct worker *worker;
	struct channel_request *request;
	enum control_kind kind;
	struct control_switch command; /* becomes the answer */
	char label[DSFS_LABEL_MAX + 1];  /* to look up */
	struct generation *generation; /* found; its lookups count it already */
	struct fuse_entry_out entry;
	struct dir_list list;
	int result;
	struct control_job *next;
};

struct control {
	struct serve *serve;
	int fd;
	pthread_t thread;
	bool running;
	int event_fd;
	pthread_mutex_t lock; /* jobs, doing, job_count, ending */
	struct control_job *jobs, **jobs_end;
	const struct control_job *doing; /* out of the queue, not answered yet */
	unsigned job_count; /* queued or being done */
	bool ending;
	_Atomic uint64_t switches;
	/* the thread's: */
	struct generation *prepared;
	int64_t listed;      /* when the kernel is to forget the listing of versions, ns; 0: it has none */
	uint64_t followed;   /* sequence of the superblock that was acted upon */
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

/* *ret_old: what was current, if another version is now. */
static int control_change(struct control *control, struct generation *generation, struct generation **ret_old,
			  struct error *err)
{
	struct generation *old = serve_current(control->serve);
	int r = change_to(control->serve, control->fd, generation, err);

	if (r < 0 || old == generation)
		return r;
	*ret_old = old;
	atomic_fetch_add(&control->switches, 1);
	if (control->prepared == generation)
		control->prepared = NULL;
	log_info("'%s' serves version '%s', before '%s'", control->serve->options.mountpoint,
		 generation->version.label, old->version.label);
	return 0;
}

static int control_switch(struct control *control, struct control_switch *command, struct generation **ret_old,
			  struct error *err)
{
	struct change_wish wish = { .label = command->label };
	struct generation *generation;
	int64_t start = clock_now();
	int r;

	r = control_check_current(control, command, err);
	if (r < 0)
		return r;
	if (command->flags & CONTROL_BY_UUID)
		wish = (struct change_wish){ .uuid = command->uuid };
	r = change_open(control->serve, &wish, &generation, err);
	if (r < 0)
		return r;
	command->prepare_us = control_us_since(start);
	start = clock_now();
	if (command->flags & CONTROL_PREPARE)
		control->prepared = generation;
	else
		r = control_change(control, generation, ret_old, err);
	command->switch_us = control_us_since(start);
	memcpy(command->label, generation->version.label, sizeof(command->label));
	memcpy(command->uuid, generation->version.uuid, sizeof(command->uuid));
	command->sequence = generation->sequence;
	return r;
}

/* ---- the thread ---- */

static int control_do_switch(struct control *control, struct control_job *job, struct generation **ret_old)
{
	struct error err = { 0 };
	int r;

	r = control_check_command(&job->command, &err);
	if (r == 0 && caller_is_gone(job->request))
		r = error_set(&err, -EINTR, "its process was killed");
	if (r == 0)
		r = control_switch(control, &job->command, ret_old, &err);
	snprintf(job->command.reason, sizeof(job->command.reason), "%s", r < 0 ? err.reason : "");
	return r;
}

/* The caller sees an errno only, so the reason goes to the log. */
static int control_report(int code, const struct error *err, const char *label)
{
	static struct log_limit limit = { .burst = 10 };
	unsigned held;

	if (code < 0 && code != -ENOENT && log_allow(&limit, &held))
		log_err("cannot open '" CONTROL_FOLDER "/" CONTROL_VERSIONS "/%s': %s, held=%u", label, err->reason,
			held);
	return code;
}

/* What LOOKUP of a label answers, for so many seconds. */
static int control_entry(struct generation *generation, unsigned valid, struct fuse_entry_out *ret, struct error *err)
{
	struct inode root;
	int r = inode_get(generation->index, INODE_ROOT, &root, err);

	if (r < 0)
		return r;
	node_entry(generation, generation_side_root(generation), &root, ret);
	ret->entry_valid = valid;
	return 0;
}

static void control_report_unsure(const struct error *err, const char *label)
{
	static struct log_limit limit = { .burst = 2 };
	unsigned held;

	if (log_allow(&limit, &held))
		log_warn("cannot tell whether '" CONTROL_FOLDER "/" CONTROL_VERSIONS "/%s' is still what is open: %s, "
			 "ignoring, held=%u", label, err->reason, held);
}

static int control_do_lookup(struct control *control, struct control_job *job)
{
	unsigned valid = VERSION_VALID;
	struct error err = { 0 };
	int r = change_visit(control->serve, job->label, &job->generation, &err);

	if (r > 0) {
		control_report_unsure(&err, job->label);
		valid = VERSION_SHORT;
	}
	if (r >= 0)
		r = control_entry(job->generation, valid, &job->entry, &err);
	if (r < 0)
		return control_report(r, &err, job->label);
	atomic_fetch_add(&job->generation->lookups, 1); /* before this thread may close it */
	return 0;
}

static int control_do_list(struct control *control, struct control_job *job)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	struct error err = { 0 };
	uint64_t ino;
	bool room;
	int r = catalogue_load(&control->serve->volume->source, &super, &catalogue, &err);

	if (r < 0)
		return control_report(r, &err, "");
	dir_begin(&job->list, job->request);
	room = dir_add_dots(&job->list, INSIDE_VERSIONS, NODE_ROOT);
	for (uint64_t i = job->list.first; i < catalogue.version_count && room; i++) {
		ino = catalogue.versions[i].sequence << DSFS_ORDINAL_BITS | INODE_ROOT;
		room = dir_add(&job->list, i, ino, DT_DIR, catalogue.versions[i].label,
			       strlen(catalogue.versions[i].label), NULL);
	}
	catalogue_free(&catalogue);
	control->listed = clock_now() + LISTING_VALID;
	return 0;
}

static void control_do(struct control *control, struct control_job *job)
{
	struct generation *old = NULL;

	switch (job->kind) {
	case CONTROL_SWITCHING:
		job->result = control_do_switch(control, job, &old);
		break;
	case CONTROL_LOOKING_UP:
		job->result = control_do_lookup(control, job);
		break;
	case CONTROL_LISTING:
		job->result = control_do_list(control, job);
		break;
	}
	pthread_mutex_lock(&control->lock);
	control->job_count--;
	control->doing = NULL;
	pthread_mutex_unlock(&control->lock);
	worker_post(job->worker, &job->task); /* the job is gone */
	if (old)
		change_let_go(control->serve, control->fd, old);
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

static int control_go(struct control *control, const struct version *goal, struct generation **ret_old,
		      struct error *err)
{
	struct change_wish wish = { .uuid = goal->uuid };
	struct generation *generation;
	int r = change_open(control->serve, &wish, &generation, err);

	return r < 0 ? r : control_change(control, generation, ret_old, err);
}

static int control_act(struct control *control, const struct superblock *super, const struct catalogue *catalogue,
		       struct generation **ret_old, struct error *err)
{
	const struct version *current = catalogue_current(catalogue), *goal = control_goal(control, catalogue);
	int r = goal ? control_go(control, goal, ret_old, err) : 0;

	if (r < 0)
		return r;
	control->followed = super->sequence;
	if (current)
		memcpy(control->pointed, current->uuid, sizeof(control->pointed));
	return 0;
}

static int control_look(struct control *control, struct generation **ret_old, struct error *err)
{
	struct source *source = &control->serve->volume->source;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = superblock_find(source, &super, err);

	if (r == 0)
		r = change_check_super(control->serve, &super, err);
	if (r < 0 || super.sequence == control->followed)
		return r;
	r = catalogue_load(source, &super, &catalogue, err);
	if (r == 0)
		r = change_check_super(control->serve, &super, err);
	if (r == 0)
		r = control_act(control, &super, &catalogue, ret_old, err);
	catalogue_free(&catalogue);
	return r;
}

static void control_follow(struct control *control)
{
	static struct log_limit limit = { .burst = 2 };
	struct generation *old = NULL;
	struct error err = { 0 };
	unsigned held;

	if (control_look(control, &old, &err) < 0 && log_allow(&limit, &held))
		log_error(&err, "cannot follow the volume's current version, trying again");
	if (old)
		change_let_go(control->serve, control->fd, old);
}

static struct control_job *control_next(struct control *control, bool *ret_ending)
{
	struct control_job *job;

	pthread_mutex_lock(&control->lock);
	job = control->jobs;
	if (job && !(control->jobs = job->next))
		control->jobs_end = &control->jobs;
	control->doing = job;
	*ret_ending = control->ending;
	pthread_mutex_unlock(&control->lock);
	return job;
}

/* The kernel keeps a listing for ever; the volume's versions change. */
static void control_forget_listing(struct control *control)
{
	struct error err = { 0 };

	if (!control->listed || clock_now() < control->listed)
		return;
	control->listed = 0;
	if (invalidate_inode(control->fd, INSIDE_VERSIONS, &err) < 0)
		log_debug("%s", err.reason);
}

/* Of two times, 0 being never. */
static int64_t control_first(int64_t a, int64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static bool control_is_wanted(void *argument)
{
	struct control *control = argument;
	bool wanted;

	pthread_mutex_lock(&control->lock);
	wanted = control->jobs || control->ending;
	pthread_mutex_unlock(&control->lock);
	return wanted;
}

static void control_sleep(const struct control *control, int64_t until)
{
	struct pollfd fd = { .fd = control->event_fd, .events = POLLIN };
	int64_t left = (until - clock_now()) / 1000000;
	uint64_t n;

	if (poll(&fd, 1, until ? (left > 0 ? (int)left + 1 : 0) : -1) > 0 &&
	    read(control->event_fd, &n, sizeof(n)) < 0)
		log_warn("the control thread cannot be woken: %s, ignoring", strerror(errno));
}

static void *control_main(void *argument)
{
	struct control *control = argument;
	int64_t period = (int64_t)control->serve->options.follow * 1000000000;
	int64_t look = period ? clock_now() + period : 0, sweep;
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
		sweep = change_sweep(control->serve, control->fd, control_is_wanted, control);
		change_retire(control->serve, control->prepared);
		control_sleep(control, control_first(control_first(look, sweep), control->listed));
	}
}

void control_poke(struct control *control)
{
	uint64_t one = 1;

	if (write(control->event_fd, &one, sizeof(one)) < 0)
		log_warn("cannot wake the control thread: %s, ignoring", strerror(errno));
}

uint64_t control_switches(const struct control *control)
{
	return atomic_load(&control->switches);
}

int control_start(struct serve *serve, int fd, struct error *err)
{
	struct control *control = calloc(1, sizeof(*control));
	int r;

	if (!control)
		return error_set(err, -ENOMEM, "no memory for the control thread");
	control->serve = serve;
	control->fd = fd;
	control->followed = serve->opened;
	memcpy(control->pointed, serve_current(serve)->version.uuid, sizeof(control->pointed));
	control->jobs_end = &control->jobs;
	pthread_mutex_init(&control->lock, NULL);
	serve->control = control;
	control->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (control->event_fd < 0)
		return error_errno(err, "cannot make an eventfd");
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
		control_poke(control);
		pthread_join(control->thread, NULL);
	}
	close_fd(&control->event_fd);
	pthread_mutex_destroy(&control->lock);
	free(control);
}

/* ---- the worker's side ---- */

static void control_answer_lookup(struct worker_task *task)
{
	struct control_job *job = (struct control_job *)task; /* its first member */

	if (job->result < 0)
		reply_error(job->worker, job->request, job->result);
	else if (!reply_data(job->worker, job->request, &job->entry, sizeof(job->entry)))
		generations_forget(job->worker->serve, job->generation, 1);
	free(job);
}

static void control_answer_list(struct worker_task *task)
{
	struct control_job *job = (struct control_job *)task; /* its first member */

	if (job->result < 0)
		reply_error(job->worker, job->request, job->result);
	else
		reply_data(job->worker, job->request, job->request->payload, job->list.used);
	free(job);
}

static void control_answer_switch(struct worker_task *task)
{
	struct control_job *job = (struct control_job *)task; /* its first member */
	struct fuse_ioctl_out out = { .result = job->result };
	uint8_t *payload = job->request->payload;

	memcpy(payload, &out, sizeof(out));
	memcpy(payload + sizeof(out), &job->command, sizeof(job->command));
	reply_data(job->worker, job->request, payload, sizeof(out) + sizeof(job->command));
	free(job);
}

static bool control_looks_up(const struct control_job *job, const char *label)
{
	return job && job->kind == CONTROL_LOOKING_UP && !strcmp(job->label, label);
}

/* Whether a look-up of the label is under way already. Under the lock. */
static bool control_is_asked(const struct control *control, const char *label)
{
	const struct control_job *job = control->jobs;

	while (job && !control_looks_up(job, label))
		job = job->next;
	return job || control_looks_up(control->doing, label);
}

/* A worker must keep slots for requests: what it cannot take is refused. So is, with `once`, a label that is asked for. */
static bool control_take(struct control *control, struct control_job *job, bool once)
{
	bool taken;

	pthread_mutex_lock(&control->lock);
	taken = control->job_count < control->serve->jobs && !(once && control_is_asked(control, job->label));
	if (taken) {
		control->job_count++;
		*control->jobs_end = job;
		control->jobs_end = &job->next;
	}
	pthread_mutex_unlock(&control->lock);
	if (taken)
		control_poke(control);
	return taken;
}

/* NULL: the request is answered. */
static struct control_job *control_job_new(struct worker *worker, struct channel_request *request,
					   void (*answer)(struct worker_task *task), enum control_kind kind)
{
	struct control_job *job = calloc(1, sizeof(*job));

	if (!job) {
		reply_error(worker, request, -ENOMEM);
		return NULL;
	}
	job->task.run = answer;
	job->worker = worker;
	job->request = request;
	job->kind = kind;
	return job;
}

/* Without a look at the volume. False when no version is open under that label: nothing was answered. */
static bool control_lookup_open(struct worker *worker, struct channel_request *request)
{
	struct serve *serve = worker->serve;
	struct generation *generation = generations_by_label(&serve->generations, request->wire.name);
	struct fuse_entry_out entry;
	struct error err = { 0 };

	if (!generation || control_entry(generation, VERSION_SHORT, &entry, &err) < 0 ||
	    !generations_hold(serve, generation))
		return false;
	if (!reply_data(worker, request, &entry, sizeof(entry)))
		generations_forget(serve, generation, 1);
	return true;
}

static void control_submit(struct control_job *job)
{
	if (control_take(job->worker->serve->control, job, false))
		return;
	reply_error(job->worker, job->request, -EBUSY);
	free(job);
}

void control_ioctl(struct worker *worker, struct channel_request *request)
{
	const struct fuse_ioctl_in *in = &request->wire.in.ioctl;
	struct error err = { 0 };
	struct control_job *job;

	if (in->cmd != CONTROL_IOC_SWITCH || request->wire.rest_length < sizeof(job->command) ||
	    in->out_size < sizeof(job->command)) {
		reply_error(worker, request, -ENOTTY);
		return;
	}
	job = control_job_new(worker, request, control_answer_switch, CONTROL_SWITCHING);
	if (!job)
		return;
	memcpy(&job->command, request->wire.rest, sizeof(job->command));
	/* Now: whoever has its number when it is the command's turn may be another process. */
	job->result = caller_check(worker->serve, request, &err);
	if (job->result == 0) {
		control_submit(job);
		return;
	}
	snprintf(job->command.reason, sizeof(job->command.reason), "%s", err.reason);
	control_answer_switch(&job->task);
}

void control_lookup(struct worker *worker, struct channel_request *request)
{
	struct control_job *job;

	if (request->wire.name_length > DSFS_LABEL_MAX) {
		reply_error(worker, request, -ENOENT);
		return;
	}
	job = control_job_new(worker, request, control_answer_lookup, CONTROL_LOOKING_UP);
	if (!job)
		return;
	memcpy(job->label, request->wire.name, request->wire.name_length);
	if (control_take(worker->serve->control, job, true))
		return;
	/* One visitor of an open version waits for the volume, not all; and none when too many wait already. */
	if (control_lookup_open(worker, request))
		free(job);
	else
		control_submit(job);
}

void control_list(struct worker *worker, struct channel_request *request)
{
	struct control_job *job = control_job_new(worker, request, control_answer_list, CONTROL_LISTING);

	if (job)
		control_submit(job);
}
