/* SPDX-License-Identifier: MIT */
/* Handles the switch command: a worker receives and answers it, the control thread carries it out. */
#include "serve/control/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program/step.h"
#include "datasetfs/control.h"
#include "serve/control/control.h"
#include "serve/control/switch.h"
#include "serve/opening/open.h"
#include "serve/recovery/recovery.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"
#include "serve/successor/successor.h"

struct command {
	struct control_job job; /* must be the first field */
	struct channel_request *request;
	struct dsfs_switch arguments; /* sent back as the answer */
	uint64_t unique; /* of the request */
	int64_t came; /* when the command arrived, ns, monotonic */
	int result;
	bool is_left; /* the next server carries it out */
};

/* ---- the control thread's side ---- */

static int command_check(const struct dsfs_switch *arguments, struct error *err)
{
	if (arguments->flags & ~(DSFS_SWITCH_PREPARE | DSFS_SWITCH_BY_UUID))
		return error_set(err, -EINVAL, "command with unknown flags %#x", arguments->flags);
	if (!memchr(arguments->label, 0, sizeof(arguments->label)) ||
	    !memchr(arguments->if_current, 0, sizeof(arguments->if_current)))
		return error_set(err, -EINVAL, "command with a label that has no NUL");
	return 0;
}

static int command_check_current(struct serve *serve, const struct dsfs_switch *arguments, struct error *err)
{
	const char *current = serve_current(serve)->opened.version.label;

	if (!*arguments->if_current || !strcmp(arguments->if_current, current))
		return 0;
	return error_set(err, -ECANCELED, "the mount serves '%s', expected '%s'", current, arguments->if_current);
}

static uint64_t command_us_since(int64_t then)
{
	return (uint64_t)(clock_now() - then) / 1000;
}

static void command_describe(struct dsfs_switch *answer, const struct generation *generation)
{
	memcpy(answer->label, generation->opened.version.label, sizeof(answer->label));
	memcpy(answer->uuid, generation->opened.version.uuid, sizeof(answer->uuid));
	answer->sequence = generation->sequence;
}

/* A version may lie on members that were added to the volume, which come with the next server. */
static int command_open(struct serve *serve, struct command *command, const struct open_target *target,
			struct generation **ret, struct error *err)
{
	int r = open_version(serve, target, ret, err);

	if (r != -ESTALE)
		return r;
	if (!control_await_members(serve->control))
		return open_version(serve, target, ret, err);
	command->is_left = serve->recovery->init_resends;
	return error_set(err, -EAGAIN, "members were added to the volume, and another server takes over: try again");
}

/* The time reported to the caller includes the wait in the queue. */
static int command_switch(struct serve *serve, struct command *command, struct error *err)
{
	struct dsfs_switch *arguments = &command->arguments;
	struct open_target target = { .label = arguments->label };
	struct generation *generation;
	int64_t start;
	int r;

	step("command-came");
	r = command_check_current(serve, arguments, err);
	if (r < 0)
		return r;
	step("command-checked");
	if (arguments->flags & DSFS_SWITCH_BY_UUID)
		target = (struct open_target){ .uuid = arguments->uuid };
	r = command_open(serve, command, &target, &generation, err);
	if (r < 0)
		return r;
	arguments->prepare_us = command_us_since(command->came);
	start = clock_now();
	if (arguments->flags & DSFS_SWITCH_PREPARE) {
		serve->generations.prepared = generation;
		step("command-prepared");
		successor_served(serve);
		step("command-kept");
	} else {
		step("command-opened");
		recovery_begin_command(serve->recovery, command->unique, generation->key);
		step("command-begun");
		r = switch_to(serve, generation, err);
	}
	arguments->switch_us = command_us_since(start);
	command_describe(arguments, generation);
	return r;
}

static int command_do(struct serve *serve, struct command *command)
{
	struct error err = { 0 };
	int r;

	r = command_check(&command->arguments, &err);
	if (r == 0 && caller_is_gone(command->request))
		r = error_set(&err, -EINTR, "its process was killed");
	if (r == 0)
		r = command_switch(serve, command, &err);
	snprintf(command->arguments.reason, sizeof(command->arguments.reason), "%s", r < 0 ? err.reason : "");
	return r;
}

/* The kernel may send a command again that the former server carried out, or that another worker has. */
static bool command_run(struct serve *serve, struct control_job *job)
{
	struct command *command = (struct command *)job; /* its first field */
	const struct recovery_result *known = recovery_find_result(serve->recovery, command->unique);

	if (known) {
		command->result = known->result;
		command->arguments = known->answer;
		return true;
	}
	command->result = command_do(serve, command);
	step("command-done");
	if (command->is_left)
		return true;
	recovery_end_command(serve->recovery, command->unique, command->result, &command->arguments);
	step("command-ended");
	return true;
}

void command_finish(struct serve *serve)
{
	struct dsfs_switch answer = { 0 };
	struct generation *generation;
	struct error err = { 0 };
	uint64_t unique, key;
	int r = switch_finish(serve, &err);
	bool is_pending = recovery_pending(serve->recovery, &unique, &key);

	step("finish-switch");
	generation = is_pending ? generations_by_key(&serve->generations, key) : NULL;
	if (r == 0 && generation)
		r = switch_to(serve, generation, &err);
	if (r < 0)
		log_error(&err, "cannot finish the switch that the former server began");
	if (!generation)
		return;
	command_describe(&answer, generation);
	snprintf(answer.reason, sizeof(answer.reason), "%s", r < 0 ? err.reason : "");
	step("finish-command");
	recovery_end_command(serve->recovery, unique, r, &answer);
	step("finish-ended");
}

/* ---- the worker's side ---- */

static void command_answer(struct worker_task *task)
{
	struct command *command = (struct command *)task; /* its first field */

	command->job.worker->waiting.commands--;
	step("command-answer");
	if (command->is_left)
		reply_leave(command->request);
	else
		reply_ioctl(command->job.worker, command->request, command->result, &command->arguments,
			    sizeof(command->arguments));
	step("command-answered");
	free(command);
}

/* Checks that the request is a command (-ENOTTY) and that the worker keeps a slot for other requests (-EBUSY). */
static int command_check_request(const struct worker *worker, const struct request *wire)
{
	const struct fuse_ioctl_in *in = &wire->in.ioctl;

	if (in->cmd != DSFS_IOC_SWITCH || wire->rest_length < sizeof(struct dsfs_switch) ||
	    in->out_size < sizeof(struct dsfs_switch))
		return -ENOTTY;
	return worker_jobs(worker) < worker->serve->machine.jobs ? 0 : -EBUSY;
}

void command_ioctl(struct worker *worker, struct channel_request *request)
{
	int r = command_check_request(worker, &request->wire);
	struct error err = { 0 };
	struct command *command = r == 0 ? calloc(1, sizeof(*command)) : NULL;

	if (!command) {
		reply_error(worker, request, r < 0 ? r : -ENOMEM);
		return;
	}
	command->job.task.run = command_answer;
	command->job.run = command_run;
	command->job.worker = worker;
	command->request = request;
	memcpy(&command->arguments, request->wire.rest, sizeof(command->arguments));
	command->unique = request->wire.unique;
	command->came = clock_now();
	worker->waiting.commands++;
	/* Check the caller now: when the command's turn comes, another process may have this pid. */
	command->result = caller_check(worker->serve, request, &err);
	if (command->result == 0) {
		control_submit(worker->serve->control, &command->job);
		return;
	}
	snprintf(command->arguments.reason, sizeof(command->arguments.reason), "%s", err.reason);
	command_answer(&command->job.task);
}
