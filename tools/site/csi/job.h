/* SPDX-License-Identifier: MIT */
/* The work on targets: a process for each, so nothing waits here for a mount or a dead disk; and the calls that wait
 * for its end. It goes on when they have given up, and whoever asks for the same again waits for it, too. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/program/child.h"
#include "csi/server.h"
#include "csi/wish.h"

enum job_kind { JOB_PUBLISH, JOB_UNPUBLISH, JOB_STATS };

/* Exit statuses of a process that fails; that of JOB_STATS is an errno. */
enum { JOB_FAILED = 1, JOB_REFUSED = 2 /* what is asked for is wrong */ };

#define JOB_SAID 1024u

struct job {
	struct job *next;
	struct jobs *jobs;
	enum job_kind kind;
	char *target;
	struct wish wish;  /* of JOB_PUBLISH */
	struct child child;
	bool is_replaced;  /* its process was killed, and another one begins */
	int64_t until;     /* of JOB_STATS, when nobody waits any longer (ns, monotonic) */
	char said[JOB_SAID]; /* what the process said: why it fails, or the facts of JOB_STATS */
	size_t length;
	struct job_call *calls;
};

struct jobs;

/* Answers all calls of a job that has ended, by job_answer() or job_refuse(). */
typedef void job_end(void *argument, struct job *job);

must_check int job_open(job_end *end, void *argument, struct jobs **ret, struct error *err);
/* Kills all processes: what they were at is made good by the next call. */
void job_close(struct jobs *jobs);
/* Has the call wait for the job on this target, which is begun if there is none. wish: of JOB_PUBLISH, else NULL; takes
 * what is in it. An unpublish ends a publish that is not done. Errors:
 *   EBUSY    something else is done to the target now
 *   EAGAIN   there are too many jobs */
must_check int job_ask(struct jobs *jobs, enum job_kind kind, const char *target, struct wish *wish, struct call *call,
		       struct error *err);
/* Looks at what processes have said, and at those that have ended. */
void job_step(struct jobs *jobs);
/* Returns for how long nothing will have to be looked at (ms; -1: nothing waits for time to pass). */
int job_wait(const struct jobs *jobs);

void job_answer(struct job *job, const struct wire_message *message);
void job_refuse(struct job *job, enum server_status status, const char *reason);
