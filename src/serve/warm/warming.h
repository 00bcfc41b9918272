/* SPDX-License-Identifier: MIT */
/* The jobs of DSFS_IOC_WARM: which files of which version, how far each job is, and when it was last asked about.
 * Workers add and ask; one thread takes the jobs one after the other, and frees those that are no longer asked
 * about. */
#pragma once
#include <pthread.h>
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/control.h"
#include "serve/version/generation.h"
#include "serve/warm/stock.h"
#include "serve/warm/wanted.h"

#define WARMING_JOBS     8u                    /* that may be there at a time */
#define WARMING_PATIENCE INT64_C(30000000000) /* ns after which a job ends if it is not asked about */
#define WARMING_ANSWER   offsetof(struct dsfs_warm, files) /* size of a command's result */

struct warming_job {
	struct warming_job *next;
	uint64_t number;
	struct generation *generation; /* the job has a use of it */
	struct wanted wanted; /* under the lock; once the thread has taken the job, the thread's */
	struct dsfs_warm answer; /* under the lock, as the fields below; without its files */
	int64_t asked;        /* when the job was last asked about, ns, monotonic */
	bool is_stopped;
	bool is_told;         /* its end was reported */
};

struct warming {
	pthread_mutex_t lock; /* protects the list, and the fields of jobs that say so */
	struct warming_job *first, **end;
	unsigned count;
	uint64_t number; /* of the last job; no other server of the mount gives out the same */
};

void warming_open(struct warming *warming);
/* Frees all jobs. */
void warming_close(struct warming *warming);

/* Carries out a command and fills in its answer. current: the version that the mount serves. The caller has checked the
 * process that asks, and that the counts are possible. Call it in a section. */
must_check int warming_command(struct warming *warming, struct generation *current, struct dsfs_warm *command,
			       struct error *err);

/* The functions below are for the one thread. */

/* Takes the job that has waited longest; NULL: none does. */
struct warming_job *warming_take(struct warming *warming);
/* Whether the job is still wanted. */
bool warming_is_wanted(struct warming *warming, const struct warming_job *job);
/* Says how far a job is. */
void warming_tell(struct warming *warming, struct warming_job *job, const struct dsfs_warm *answer);
/* Frees the jobs that are no longer asked about. Returns whether jobs are left. */
bool warming_sweep(struct warming *warming);
