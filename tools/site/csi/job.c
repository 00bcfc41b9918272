/* SPDX-License-Identifier: MIT */
/* Keeps a list: there are as many jobs as pods that begin or end at a time. */
#include "csi/job.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "attach/attach.h"
#include "attach/health.h"
#include "attach/uses.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/program/step.h"

#define JOB_MOST      192u /* processes at a time */
#define JOB_PUBLISHES 128u /* publish is refused from so many on, so that unpublish still has room */
#define JOB_PATIENCE  5000 /* ms: for a mount that is asked */

struct job_call {
	struct job_call *next;
	struct call *call;
};

struct jobs {
	struct job *first;
	unsigned count;
	job_end *end;
	void *argument;
};

/* ---- in the process ---- */

static int job_begin_key(const struct wish *wish, struct key *key, struct error *err)
{
	int r = key_begin(wish->volume, key, err);

	for (size_t i = 0; r == 0 && i < wish->want_count; i++)
		r = key_say(key, KEY_CONSUMER, wish->wants[i], err);
	return r < 0 || !wish->options ? r : key_say_list(key, KEY_ADMIN, wish->options, err);
}

static int job_attach(const struct job *job, struct error *err)
{
	auto_key struct key key = { 0 };

	if (job_begin_key(&job->wish, &key, err) < 0)
		return JOB_REFUSED;
	return attach_to(&key, job->target, err) < 0 ? JOB_FAILED : 0;
}

static int job_detach(const struct job *job, struct error *err)
{
	bool was;

	return attach_detach(job->target, &was, err) < 0 ? JOB_FAILED : 0;
}

/* A mount by the kernel answers whatever has become of its devices. */
static int job_check_kernels(const struct uses *uses, const struct use *there)
{
	const struct use *shared = there->is_kernels ? uses_shared(uses, there->device) : NULL;
	struct dsfs_version_facts facts;

	return shared && health_of_kernel(shared->point, shared->device, &facts, NULL) == -ENODEV ? ENODEV : 0;
}

/* Asks the mount, which may hang and which nothing but this process waits for. */
static void job_run_stats(const char *target, int fd)
{
	auto_uses struct uses uses = { 0 };
	struct statvfs facts;
	int code = 0;

	if (uses_read(&uses, NULL) == 0) {
		const struct use *there = uses_at(&uses, target);

		code = there ? job_check_kernels(&uses, there) : ENOENT;
	}
	if (code == 0 && statvfs(target, &facts) < 0)
		code = errno;
	if (code == 0)
		(void)!write(fd, &facts, sizeof(facts));
	_exit(code);
}

static void job_run(const void *argument, int fd)
{
	const struct job *job = argument;
	struct error err = { 0 };
	sigset_t none;
	int status;

	if (job->kind == JOB_STATS)
		job_run_stats(job->target, fd);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	status = job->kind == JOB_PUBLISH ? job_attach(job, &err) : job_detach(job, &err);
	if (status)
		(void)!write(fd, err.reason, strlen(err.reason));
	_exit(status);
}

/* ---- calls ---- */

static int job_add_call(struct job *job, struct call *call, struct error *err)
{
	struct job_call *link = calloc(1, sizeof(*link));

	if (!link)
		return error_no_memory(err);
	*link = (struct job_call){ job->calls, call };
	job->calls = link;
	return 0;
}

/* Takes a call off the job. NULL: there is none. */
static struct call *job_take_call(struct job *job)
{
	struct job_call *link = job->calls;
	struct call *call = link ? link->call : NULL;

	if (link)
		job->calls = link->next;
	free(link);
	return call;
}

/* Frees calls whose clients have given up, as the kubelet does after two minutes, to call again. */
static void job_forget(struct job *job)
{
	struct job_call **at = &job->calls, *link;

	while ((link = *at)) {
		if (!server_is_gone(link->call)) {
			at = &link->next;
			continue;
		}
		server_refuse(link->call, SERVER_ABORTED, "");
		*at = link->next;
		free(link);
	}
}

void job_answer(struct job *job, const struct wire_message *message)
{
	struct call *call;

	while ((call = job_take_call(job)))
		server_answer(call, message);
}

void job_refuse(struct job *job, enum server_status status, const char *reason)
{
	struct call *call;

	while ((call = job_take_call(job)))
		server_refuse(call, status, reason);
}

/* ---- jobs ---- */

static int64_t job_patience(void)
{
	return step_number("DATASETFS_CSI_PATIENCE", JOB_PATIENCE) * INT64_C(1000000);
}

static int job_begin(struct job *job, struct error *err)
{
	job->length = 0;
	job->said[0] = 0;
	job->until = job->kind == JOB_STATS ? clock_now() + job_patience() : INT64_MAX;
	return child_start(&job->child, job_run, job, err);
}

static void job_free(struct job *job)
{
	job_refuse(job, SERVER_UNAVAILABLE, "datasetfs-csi ends");
	child_kill(&job->child, 0);
	wish_free(&job->wish);
	free(job->target);
	free(job);
}

static void job_remove(struct jobs *jobs, struct job *job)
{
	struct job **at = &jobs->first;

	while (*at != job)
		at = &(*at)->next;
	*at = job->next;
	jobs->count--;
	job_free(job);
}

/* Finds the job that changes the target or, for JOB_STATS, the one that asks it. */
static struct job *job_find(const struct jobs *jobs, enum job_kind kind, const char *target)
{
	struct job *job = jobs->first;

	while (job && ((job->kind == JOB_STATS) != (kind == JOB_STATS) || strcmp(job->target, target) != 0))
		job = job->next;
	return job;
}

static int job_add(struct jobs *jobs, enum job_kind kind, const char *target, struct job **ret, struct error *err)
{
	struct job *job;

	if (jobs->count >= (kind == JOB_PUBLISH ? JOB_PUBLISHES : JOB_MOST))
		return error_set(err, -EAGAIN, "%u volumes are being worked on: try again", jobs->count);
	job = calloc(1, sizeof(*job));
	if (!job)
		return error_no_memory(err);
	*job = (struct job){ .jobs = jobs, .kind = kind, .child = CHILD_NONE, .target = strdup(target) };
	job->next = jobs->first;
	jobs->first = job;
	jobs->count++;
	if (!job->target) {
		job_remove(jobs, job);
		return error_no_memory(err);
	}
	*ret = job;
	return 0;
}

/* Puts an unpublish in the place of a publish, whose process has to end first. */
static void job_replace(struct job *job)
{
	job_refuse(job, SERVER_ABORTED, "the volume is being unpublished");
	job->kind = JOB_UNPUBLISH;
	job->is_replaced = true;
	if (job->child.process)
		kill(job->child.process, SIGKILL);
}

static int job_join(struct job *job, enum job_kind kind, const struct wish *wish, struct error *err)
{
	if (job->kind == kind && (!wish || wish_is_same(&job->wish, wish)))
		return 0;
	if (job->kind != JOB_PUBLISH || kind != JOB_UNPUBLISH)
		return error_set(err, -EBUSY, "the volume is being %s at this place: try again",
				 job->kind == JOB_UNPUBLISH ? "unpublished" : "published with other attributes");
	job_replace(job);
	return 0;
}

int job_ask(struct jobs *jobs, enum job_kind kind, const char *target, struct wish *wish, struct call *call,
	    struct error *err)
{
	struct job *job = job_find(jobs, kind, target);
	bool is_new = !job;
	int r;

	if (!is_new) {
		r = job_join(job, kind, wish, err);
		job_forget(job);
		return r < 0 ? r : job_add_call(job, call, err);
	}
	r = job_add(jobs, kind, target, &job, err);
	if (r < 0)
		return r;
	if (wish) {
		job->wish = *wish;
		*wish = (struct wish){ 0 };
	}
	r = job_begin(job, err);
	if (r == 0)
		r = job_add_call(job, call, err);
	if (r < 0)
		job_remove(jobs, job);
	return r;
}

/* ---- the end of a process ---- */

static void job_listen(struct job *job)
{
	char packet[JOB_SAID];
	ssize_t n;

	while ((n = recv(job->child.fd, packet, sizeof(packet) - 1, MSG_DONTWAIT)) > 0) {
		memcpy(job->said, packet, (size_t)n);
		job->length = (size_t)n;
		job->said[n] = 0;
	}
}

/* Begins the process that takes the place of the one that was killed. */
static void job_go_on(struct job *job)
{
	struct error err = { 0 };

	close_fd(&job->child.fd);
	job->is_replaced = false;
	if (job_begin(job, &err) == 0)
		return;
	job_refuse(job, SERVER_INTERNAL, err.reason);
	job_remove(job->jobs, job);
}

static void job_look(struct job *job)
{
	bool is_gone = child_is_gone(&job->child); /* before it is listened to, so that nothing is missed */

	job_listen(job);
	if (is_gone && job->is_replaced) {
		job_go_on(job);
	} else if (is_gone) {
		job->jobs->end(job->jobs->argument, job);
		job_remove(job->jobs, job);
	} else if (clock_now() >= job->until && job->calls) {
		job->jobs->end(job->jobs->argument, job);
	}
}

void job_step(struct jobs *jobs)
{
	struct job *job = jobs->first, *next;

	for (; job; job = next) {
		next = job->next;
		job_look(job);
	}
}

int job_wait(const struct jobs *jobs)
{
	int64_t until = INT64_MAX, left;

	for (const struct job *job = jobs->first; job; job = job->next)
		if (job->calls && job->until < until)
			until = job->until;
	if (until == INT64_MAX)
		return -1;
	left = until - clock_now();
	return left > 0 ? (int)(left / 1000000) + 1 : 0;
}

int job_open(job_end *end, void *argument, struct jobs **ret, struct error *err)
{
	struct jobs *jobs = calloc(1, sizeof(*jobs));

	if (!jobs)
		return error_no_memory(err);
	*jobs = (struct jobs){ .end = end, .argument = argument };
	*ret = jobs;
	return 0;
}

void job_close(struct jobs *jobs)
{
	while (jobs && jobs->first)
		job_remove(jobs, jobs->first);
	free(jobs);
}
