/* SPDX-License-Identifier: MIT */
/* The command under way is in serve->upgrade; the thread that takes it out of there, under the lock, ends it. */
#include "serve/control/upgrade.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/installed.h"
#include "datasetfs/control.h"
#include "serve/control/control.h"
#include "serve/recovery/recovery.h"
#include "serve/request/caller.h"
#include "serve/request/reply.h"
#include "serve/successor/successor.h"
#include "supervisor/keep.h"

struct upgrade_command {
	struct control_job job; /* must be the first field */
	struct channel_request *request;
	struct dsfs_upgrade arguments; /* sent back as the answer */
	uint64_t unique;               /* of the request */
	int result;
	bool is_left; /* the next server answers it */
	struct upgrade_command *twin; /* the same request, read another time; NULL: none */
};

static pthread_mutex_t upgrade_lock = PTHREAD_MUTEX_INITIALIZER;

/* The command that has failed last; under the lock. */
static struct {
	uint64_t unique; /* 0: none */
	struct error why;
} upgrade_failed;

static struct upgrade_command *upgrade_take(struct serve *serve)
{
	struct upgrade_command *command;

	pthread_mutex_lock(&upgrade_lock);
	command = serve->upgrade;
	serve->upgrade = NULL;
	pthread_mutex_unlock(&upgrade_lock);
	return command;
}

static void upgrade_set_result(struct upgrade_command *command, int result, const char *reason)
{
	command->result = result;
	snprintf(command->arguments.reason, sizeof(command->arguments.reason), "%s", reason);
}

/* ---- the control thread's side ---- */

static int upgrade_check(struct serve *serve, const struct upgrade_command *command, struct error *err)
{
	if (command->arguments.flags & ~DSFS_UPGRADE_IF_OTHER)
		return error_set(err, -EINVAL, "command with unknown flags %#x", command->arguments.flags);
	if (caller_is_gone(command->request))
		return error_set(err, -EINTR, "its process was killed");
	if (!successor_survives_server(serve))
		return error_set(err, -EOPNOTSUPP, "%s: unmount it and mount it again",
				 keep_fd(serve->keep) < 0 ? "the mount has no supervisor" :
							    "requests of channel=ring do not survive their server");
	return 0;
}

/* Hands the program to the supervisor, which begins with a rehearsal. */
static int upgrade_hand_on(struct serve *serve, const char *name, struct error *err)
{
	auto_close int program = -1;
	int r = installed_open(serve->owner, &program, err);

	return r < 0 ? r : successor_replace(serve, program, name, err);
}

/* Makes a command the one under way. One that the kernel has sent again joins the same one: both are answered, as only
 * the one that was read last counts, and which one that is cannot be told here. */
static int upgrade_enter(struct serve *serve, struct upgrade_command *command, bool *ret_again, struct error *err)
{
	struct upgrade_command *former;

	pthread_mutex_lock(&upgrade_lock);
	former = serve->upgrade;
	*ret_again = former && former->unique == command->unique;
	if (!former || *ret_again)
		serve->upgrade = command;
	command->twin = *ret_again ? former : NULL;
	pthread_mutex_unlock(&upgrade_lock);
	return !former || *ret_again ? 0 : error_set(err, -EBUSY, "another upgrade is under way");
}

/* Once it is entered, another thread may end the command: it belongs to us again only if we take it out. */
static int upgrade_do(struct serve *serve, struct upgrade_command *command, struct error *err)
{
	char name[24];
	bool again = false;
	int r = upgrade_check(serve, command, err);

	snprintf(name, sizeof(name), "%" PRIx64, command->unique);
	if (r == 0)
		r = upgrade_enter(serve, command, &again, err);
	if (r < 0 || again)
		return r;
	r = upgrade_hand_on(serve, name, err);
	return r < 0 && upgrade_take(serve) ? r : 0;
}

/* A twin may come when the other one was answered already. */
static bool upgrade_has_failed(struct upgrade_command *command)
{
	bool is_known;

	pthread_mutex_lock(&upgrade_lock);
	is_known = upgrade_failed.unique == command->unique;
	if (is_known)
		upgrade_set_result(command, upgrade_failed.why.code, upgrade_failed.why.reason);
	pthread_mutex_unlock(&upgrade_lock);
	return is_known;
}

/* The kernel sends the command again to the server of the new program. */
static bool upgrade_run(struct serve *serve, struct control_job *job)
{
	struct upgrade_command *command = (struct upgrade_command *)job; /* its first field */
	const struct recovery_result *known = recovery_find_result(serve->recovery, command->unique);
	struct error err = { 0 };
	int r;

	if (known) {
		upgrade_set_result(command, known->result, known->answer.reason);
		command->arguments.upgraded = known->result == 0;
		return true;
	}
	if (upgrade_has_failed(command))
		return true;
	if (command->arguments.flags == DSFS_UPGRADE_IF_OTHER && !installed_is_another())
		return true;
	r = upgrade_do(serve, command, &err);
	if (r < 0)
		upgrade_set_result(command, r, err.reason);
	return r < 0;
}

void upgrade_finish(struct serve *serve, const struct keep_answer *told)
{
	struct dsfs_switch answer = { 0 };

	if (!*told->name)
		return;
	keep_drop(serve->keep, KEEPING_REHEARSAL);
	if (!strcmp(told->name, SUCCESSOR_WIDER)) {
		log_info("'%s' has %" PRIu32 " members now", serve->options.volume, serve->volume.array->count);
		return;
	}
	snprintf(answer.reason, sizeof(answer.reason), "%s", told->why.reason);
	recovery_end_command(serve->recovery, strtoull(told->name, NULL, 16), told->why.code, &answer);
}

/* ---- the worker's side ---- */

static void upgrade_answer(struct worker_task *task)
{
	struct upgrade_command *command = (struct upgrade_command *)task; /* its first field */

	command->job.worker->waiting.commands--;
	if (command->is_left)
		reply_leave(command->request);
	else
		reply_ioctl(command->job.worker, command->request, command->result, &command->arguments,
			    sizeof(command->arguments));
	free(command);
}

static int upgrade_check_request(const struct worker *worker, const struct request *wire)
{
	if (wire->rest_length < sizeof(struct dsfs_upgrade) || wire->in.ioctl.out_size < sizeof(struct dsfs_upgrade))
		return -ENOTTY;
	return worker_jobs(worker) < worker->serve->machine.jobs ? 0 : -EBUSY;
}

void upgrade_ioctl(struct worker *worker, struct channel_request *request)
{
	int r = upgrade_check_request(worker, &request->wire);
	struct upgrade_command *command = r == 0 ? calloc(1, sizeof(*command)) : NULL;
	struct error err = { 0 };

	if (!command) {
		reply_error(worker, request, r < 0 ? r : -ENOMEM);
		return;
	}
	command->job.task.run = upgrade_answer;
	command->job.run = upgrade_run;
	command->job.worker = worker;
	command->request = request;
	command->unique = request->wire.unique & ~WIRE_UNIQUE_RESEND;
	memcpy(&command->arguments, request->wire.rest, sizeof(command->arguments));
	upgrade_set_result(command, 0, "");
	worker->waiting.commands++;
	r = caller_check_owner(worker->serve, request, &err);
	if (r == 0) {
		control_submit(worker->serve->control, &command->job);
		return;
	}
	upgrade_set_result(command, r, err.reason);
	upgrade_answer(&command->job.task);
}

/* ---- the session's side ---- */

static void upgrade_end(struct upgrade_command *command, bool is_left, const struct error *why)
{
	struct upgrade_command *twin;

	for (; command; command = twin) {
		twin = command->twin; /* the worker frees the command */
		command->is_left = is_left;
		command->arguments.upgraded = !why;
		upgrade_set_result(command, why ? why->code : 0, why ? why->reason : "");
		worker_post(command->job.worker, &command->job.task);
	}
}

void upgrade_fail(struct serve *serve, const struct keep_answer *told)
{
	bool is_wider = !strcmp(told->name, SUCCESSOR_WIDER);
	struct upgrade_command *command = is_wider ? NULL : upgrade_take(serve);

	keep_drop(serve->keep, KEEPING_REHEARSAL);
	if (is_wider)
		successor_narrow(serve, &told->why);
	if (!command)
		return;
	pthread_mutex_lock(&upgrade_lock);
	upgrade_failed.unique = command->unique;
	upgrade_failed.why = told->why;
	pthread_mutex_unlock(&upgrade_lock);
	upgrade_end(command, false, &told->why);
}

void upgrade_leave(struct serve *serve, bool resends)
{
	upgrade_end(upgrade_take(serve), resends, NULL);
}
