/* SPDX-License-Identifier: MIT */
/* Checks what the kubelet asks for, and has it attached and detached. Numbers of fields are those of
 * csi.proto, version 1. */
#include "csi/node.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "attach/named.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "csi/conf.h"
#include "csi/request.h"
#include "csi/wish.h"

enum { NODE_GET_VOLUME_STATS = 2, NODE_VOLUME_CONDITION = 4 };
enum { NODE_BYTES = 1, NODE_INODES = 2 };

#define NODE_NOT_THERE "no data set is published there"

/* ---- refusals ---- */

static enum server_status node_status(int code)
{
	switch (code) {
	case -EBUSY:
		return SERVER_ABORTED;
	case -EAGAIN:
		return SERVER_UNAVAILABLE;
	case -ENOMEM:
		return SERVER_RESOURCE_EXHAUSTED;
	case -ENOENT:
		return SERVER_NOT_FOUND;
	case -EBADMSG:
	case -EINVAL:
	case -EPERM:
		return SERVER_INVALID_ARGUMENT;
	}
	return SERVER_FAILED_PRECONDITION;
}

static void node_refuse(struct call *call, const char *what, const struct error *err)
{
	log_error(err, "cannot %s", what);
	server_refuse(call, node_status(err->code), err->reason);
}

/* ---- what the node is ---- */

void node_info(void *argument, struct call *call, struct span message)
{
	auto_wire struct wire_message answer = { 0 };
	const struct node *node = argument;

	(void)message;
	wire_put_text(&answer, 1, node->name);
	server_answer(call, &answer);
}

static void node_put_capability(struct wire_message *answer, unsigned type)
{
	auto_wire struct wire_message capability = { 0 }, rpc = { 0 };

	wire_put_number(&rpc, 1, type);
	wire_put_message(&capability, 1, &rpc);
	wire_put_message(answer, 1, &capability);
}

void node_capabilities(void *argument, struct call *call, struct span message)
{
	auto_wire struct wire_message answer = { 0 };

	(void)argument;
	(void)message;
	node_put_capability(&answer, NODE_GET_VOLUME_STATS);
	node_put_capability(&answer, NODE_VOLUME_CONDITION);
	server_answer(call, &answer);
}

/* ---- publish ---- */

static int node_check_volume(const struct request *request, struct error *err)
{
	if (!request->volume || !*request->volume)
		return error_set(err, -EINVAL, "volume_id is missing");
	if (!request->target || !*request->target)
		return error_set(err, -EINVAL, "the target path is missing");
	return 0;
}

/* Pods get everything read-only, so 'ro' is the one option that changes nothing. */
static int node_check_publish(const struct request *request, struct error *err)
{
	int r = node_check_volume(request, err);

	if (r < 0)
		return r;
	if (!request->has_capability)
		return error_set(err, -EINVAL, "the volume's capability is missing");
	if (request->is_block)
		return error_set(err, -EINVAL, "a data set is no block device: expected volumeMode Filesystem");
	for (size_t i = 0; i < request->flag_count; i++)
		if (strcmp(request->flags[i], "ro") != 0)
			return error_set(err, -EINVAL, "mount option '%s': options of a data set stand in "
					 "datasets.conf of the machine", request->flags[i]);
	return 0;
}

/* Finds out what is asked for, and makes its target. */
static int node_prepare(const struct node *node, const struct request *request, char target[PATH_MAX],
			struct wish *ret, struct error *err)
{
	auto_named struct named_list named = { 0 };
	auto_conf struct conf conf = { 0 };
	int r = node_check_publish(request, err);

	if (r == 0)
		r = target_path(&node->root, request->target, target, err);
	if (r == 0)
		r = conf_read(node->conf, &conf, err);
	if (r == 0)
		r = named_read(NAMED_FILE, &named, err);
	if (r == 0)
		r = wish_read(request, &named, &conf, ret, err);
	return r < 0 ? r : target_make(target, err);
}

void node_publish(void *argument, struct call *call, struct span message)
{
	auto_request struct request request = { 0 };
	auto_wish struct wish wish = { 0 };
	struct node *node = argument;
	struct error err = { 0 };
	char target[PATH_MAX];
	int r = request_publish(message, &request, &err);

	if (r == 0)
		r = node_prepare(node, &request, target, &wish, &err);
	if (r == 0)
		r = job_ask(node->jobs, JOB_PUBLISH, target, &wish, call, &err);
	if (r < 0)
		node_refuse(call, "publish a volume", &err);
}

/* ---- unpublish, and stats ---- */

static int node_target(const struct node *node, struct span message, char ret[PATH_MAX], struct error *err)
{
	auto_request struct request request = { 0 };
	int r = request_target(message, &request, err);

	if (r == 0)
		r = node_check_volume(&request, err);
	return r < 0 ? r : target_path(&node->root, request.target, ret, err);
}

void node_unpublish(void *argument, struct call *call, struct span message)
{
	struct node *node = argument;
	struct error err = { 0 };
	char target[PATH_MAX];
	int r = node_target(node, message, target, &err);

	if (r == 0)
		r = job_ask(node->jobs, JOB_UNPUBLISH, target, NULL, call, &err);
	if (r < 0)
		node_refuse(call, "unpublish a volume", &err);
}

void node_stats(void *argument, struct call *call, struct span message)
{
	auto_request struct request request = { 0 };
	struct node *node = argument;
	struct error err = { 0 };
	char target[PATH_MAX];
	int r = request_target(message, &request, &err);

	if (r == 0)
		r = node_check_volume(&request, &err);
	if (r == 0 && target_path(&node->root, request.target, target, &err) < 0)
		r = error_wrap(&err, -ENOENT, NODE_NOT_THERE);
	if (r == 0)
		r = job_ask(node->jobs, JOB_STATS, target, NULL, call, &err);
	if (r < 0)
		node_refuse(call, "say how a volume is", &err);
}

/* ---- the end of a job ---- */

/* Returns why the process failed, NULL if it did not. */
static const char *node_failure(const struct job *job, enum server_status *ret_status)
{
	int status = job->child.status;

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	*ret_status = SERVER_INTERNAL;
	if (!WIFEXITED(status))
		return "its process was killed";
	*ret_status = WEXITSTATUS(status) == JOB_REFUSED ? SERVER_INVALID_ARGUMENT : SERVER_FAILED_PRECONDITION;
	return *job->said ? job->said : "its process did not say why";
}

static void node_end_publish(struct job *job)
{
	const struct wire_message answer = { 0 };
	enum server_status status;
	const char *reason = node_failure(job, &status);

	if (!reason) {
		log_info("'%s' shows a data set", job->target);
		job_answer(job, &answer);
		return;
	}
	log_err("cannot publish '%s': %s", job->target, reason);
	(void)!target_remove(job->target, NULL);
	job_refuse(job, status, reason);
}

static void node_end_unpublish(struct job *job)
{
	const struct wire_message answer = { 0 };
	enum server_status status = SERVER_FAILED_PRECONDITION;
	const char *reason = node_failure(job, &status);
	struct error err = { 0 };

	/* Where nothing is, nothing is left to do. */
	if (reason && !target_is_there(job->target))
		reason = NULL;
	if (!reason && target_remove(job->target, &err) < 0)
		reason = err.reason;
	if (!reason) {
		job_answer(job, &answer);
		return;
	}
	log_err("cannot unpublish '%s': %s", job->target, reason);
	job_refuse(job, status, reason);
}

static void node_put_usage(struct wire_message *answer, unsigned unit, uint64_t total, uint64_t available)
{
	auto_wire struct wire_message usage = { 0 };

	wire_put_number(&usage, 1, available);
	wire_put_number(&usage, 2, total);
	wire_put_number(&usage, 3, total - available);
	wire_put_number(&usage, 4, unit);
	wire_put_message(answer, 1, &usage);
}

static void node_put_condition(struct wire_message *answer, const char *abnormal)
{
	auto_wire struct wire_message condition = { 0 };

	wire_put_number(&condition, 1, abnormal != NULL);
	wire_put_text(&condition, 2, abnormal ? abnormal : "the data set is served");
	wire_put_message(answer, 2, &condition);
}

/* Returns the error that a process which asks a data set ended with. */
static int node_code(const struct job *job)
{
	return !job->child.process && WIFEXITED(job->child.status) ? WEXITSTATUS(job->child.status) : 0;
}

/* Says what is wrong with a data set that could not be asked. */
static const char *node_trouble(const struct job *job)
{
	int code = node_code(job);

	if (job->child.process)
		return "the data set does not answer: its daemon or its device hangs";
	if (code == ENOTCONN || code == ECONNABORTED)
		return "the daemon of the data set is gone: pods that begin now get another one";
	if (code == ENODEV)
		return "a device of the data set is gone: pods that begin now get another mount";
	return code ? strerror(code) : "the process that asks the data set has ended";
}

static void node_end_stats(struct job *job)
{
	auto_wire struct wire_message answer = { 0 };
	struct statvfs facts;

	if (node_code(job) == ENOENT) {
		job_refuse(job, SERVER_NOT_FOUND, NODE_NOT_THERE);
		return;
	}
	if (job->length == sizeof(facts)) {
		memcpy(&facts, job->said, sizeof(facts));
		node_put_usage(&answer, NODE_BYTES, facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize);
		node_put_usage(&answer, NODE_INODES, facts.f_files, facts.f_favail);
	}
	node_put_condition(&answer, job->length == sizeof(facts) ? NULL : node_trouble(job));
	job_answer(job, &answer);
}

static void node_end(void *argument, struct job *job)
{
	(void)argument;
	if (job->kind == JOB_STATS)
		node_end_stats(job);
	else if (job->kind == JOB_UNPUBLISH)
		node_end_unpublish(job);
	else
		node_end_publish(job);
}

int node_open(struct node *node, struct error *err)
{
	return job_open(node_end, node, &node->jobs, err);
}

void node_close(struct node *node)
{
	job_close(node->jobs);
	node->jobs = NULL;
}
