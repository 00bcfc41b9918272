/* SPDX-License-Identifier: MIT */
/* The jobs of DSFS_IOC_WARM: their version, files and progress, and the time of the last command for each. Workers add
 * and query jobs; one thread takes them one after the other, and frees those that no command names any more. */
#pragma once
#include <pthread.h>
#include <stddef.h>

#include "base/error.h"
#include "datasetfs/control.h"
#include "serve/cache/cached_files.h"
#include "serve/cache/file_set.h"
#include "serve/version/generation.h"

#define WARM_JOBS_JOBS     8u                   /* that may be there at a time */
#define WARM_JOBS_PATIENCE INT64_C(30000000000) /* ns after which a job ends if it is not asked about */
#define WARM_JOBS_ANSWER   offsetof(struct dsfs_warm, files) /* size of a command's result */

struct warm_job {
	struct warm_job *next;
	uint64_t number;
	struct generation *generation; /* the job has a use of it */
	struct file_set wanted; /* under the lock; once the thread has taken the job, the thread's */
	struct dsfs_warm answer; /* under the lock, as the fields below; without its files */
	int64_t asked;        /* when the job was last asked about, ns, monotonic */
	bool is_stopped;
	bool is_told;         /* its end was reported */
};

struct warm_jobs {
	pthread_mutex_t lock; /* protects the list, and the fields of jobs that say so */
	struct warm_job *first, **end;
	unsigned count;
	uint64_t number; /* of the last job; no other server of the mount gives out the same */
};

void warm_jobs_open(struct warm_jobs *jobs);
/* Frees all jobs. */
void warm_jobs_close(struct warm_jobs *jobs);

/* Carries out a command and fills in its answer. current: the version that the mount serves. The caller has checked the
 * process that asks, and that the counts are possible. Call it in a section. */
must_check int warm_jobs_command(struct warm_jobs *jobs, struct generation *current, struct dsfs_warm *command,
			       struct error *err);

/* The functions below are for the one thread. */

/* Takes the job that has waited longest; NULL: none does. */
struct warm_job *warm_jobs_take(struct warm_jobs *jobs);
/* Whether the job is still wanted. */
bool warm_jobs_is_wanted(struct warm_jobs *jobs, const struct warm_job *job);
/* Says how far a job is. */
void warm_jobs_tell(struct warm_jobs *jobs, struct warm_job *job, const struct dsfs_warm *answer);
/* Frees the jobs that are no longer asked about. Returns whether jobs are left. */
bool warm_jobs_sweep(struct warm_jobs *jobs);
