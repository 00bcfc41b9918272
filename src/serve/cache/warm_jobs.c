/* SPDX-License-Identifier: MIT */
/* Keeps the jobs in a list, in the order in which they came. */
#include "serve/cache/warm_jobs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "serve/version/nodeid.h"

static_assert(DSFS_WARM_MOST == DSFS_PREFETCH_MOST, "numbers of files go the same way");

void warm_jobs_open(struct warm_jobs *jobs)
{
	*jobs = (struct warm_jobs){ .number = (uint64_t)getpid() << 32 };
	jobs->end = &jobs->first;
	pthread_mutex_init(&jobs->lock, NULL);
}

static void warm_jobs_free(struct warm_job *job)
{
	file_set_close(&job->wanted);
	generation_put(job->generation);
	free(job);
}

void warm_jobs_close(struct warm_jobs *jobs)
{
	struct warm_job *job;

	while ((job = list_take(jobs->first, jobs->end, next)))
		warm_jobs_free(job);
	pthread_mutex_destroy(&jobs->lock);
}

static bool warm_jobs_is_over(const struct warm_job *job)
{
	return job->answer.state >= DSFS_WARM_DONE;
}

/* ---- a new job ---- */

static int warm_jobs_new(struct generation *current, uint64_t sequence, struct warm_job **ret, struct error *err)
{
	struct warm_job *job;

	if (sequence && sequence != current->sequence)
		return error_set(err, -ESTALE, "the mount serves version '%s' now", current->opened.version.label);
	job = calloc(1, sizeof(*job));
	if (!job || file_set_open(&job->wanted, current->opened.index->shape.inode_count, NULL) < 0) {
		free(job);
		return error_no_memory(err);
	}
	generation_get(current);
	job->generation = current;
	job->answer.sequence = current->sequence;
	memcpy(job->answer.label, current->opened.version.label, strlen(current->opened.version.label));
	*ret = job;
	return 0;
}

/* The caller holds the lock. */
static int warm_jobs_enter(struct warm_jobs *jobs, struct warm_job *job, struct error *err)
{
	if (jobs->count == WARM_JOBS_JOBS)
		return error_set(err, -EBUSY, "%u warm jobs are there already, try again when one has ended",
				 WARM_JOBS_JOBS);
	job->answer.job = job->number = ++jobs->number;
	list_append(jobs->end, job, next);
	jobs->count++;
	return 0;
}

/* ---- commands ---- */

/* The caller holds the lock. */
static struct warm_job *warm_jobs_find(const struct warm_jobs *jobs, uint64_t number)
{
	struct warm_job *job = jobs->first;

	while (job && job->number != number)
		job = job->next;
	return job;
}

static int warm_jobs_add(struct warm_job *job, uint64_t number, struct error *err)
{
	if (!number)
		return 0;
	if (nodeid_may_be_of(number, job->generation->sequence) && file_set_add(&job->wanted, nodeid_ordinal(number)))
		return 0;
	return error_set(err, -ESTALE, "%#" PRIx64 " is no file of version '%s', which the mount serves", number,
			 job->generation->opened.version.label);
}

static int warm_jobs_add_all(struct warm_job *job, const struct dsfs_warm *command, struct error *err)
{
	int r = 0;

	if (command->count && job->answer.state != DSFS_WARM_TAKES)
		return error_set(err, -EINVAL, "files for a job that has begun");
	for (uint32_t i = 0; r == 0 && i < command->count; i++)
		r = warm_jobs_add(job, command->files[i], err);
	return r;
}

/* The caller holds the lock. */
static int warm_jobs_do(struct warm_jobs *jobs, struct dsfs_warm *command, struct error *err)
{
	struct warm_job *job = warm_jobs_find(jobs, command->job);
	int r;

	if (!job)
		return error_set(err, -ENOENT, "there is no warm job %#" PRIx64 ", begin again", command->job);
	r = warm_jobs_add_all(job, command, err);
	if (r < 0)
		return r;
	job->asked = clock_now();
	job->is_stopped |= command->flags & DSFS_WARM_STOP;
	if (job->answer.state == DSFS_WARM_TAKES && command->flags & DSFS_WARM_GO)
		job->answer.state = DSFS_WARM_WAITS;
	if (job->answer.state <= DSFS_WARM_WAITS && job->is_stopped)
		job->answer.state = DSFS_WARM_STOPPED;
	job->is_told |= warm_jobs_is_over(job);
	memcpy(command, &job->answer, WARM_JOBS_ANSWER);
	return 0;
}

int warm_jobs_command(struct warm_jobs *jobs, struct generation *current, struct dsfs_warm *command, struct error *err)
{
	struct warm_job *job = NULL;
	int r = command->job ? 0 : warm_jobs_new(current, command->sequence, &job, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&jobs->lock);
	if (job)
		r = warm_jobs_enter(jobs, job, err);
	if (r == 0 && job)
		command->job = job->number;
	else if (job)
		warm_jobs_free(job);
	if (r == 0)
		r = warm_jobs_do(jobs, command, err);
	pthread_mutex_unlock(&jobs->lock);
	return r;
}

/* ---- the thread's side ---- */

struct warm_job *warm_jobs_take(struct warm_jobs *jobs)
{
	struct warm_job *job;

	pthread_mutex_lock(&jobs->lock);
	for (job = jobs->first; job && job->answer.state != DSFS_WARM_WAITS;)
		job = job->next;
	if (job)
		job->answer.state = DSFS_WARM_LOOKS;
	pthread_mutex_unlock(&jobs->lock);
	return job;
}

bool warm_jobs_is_wanted(struct warm_jobs *jobs, const struct warm_job *job)
{
	bool is_wanted;

	pthread_mutex_lock(&jobs->lock);
	is_wanted = !job->is_stopped && clock_now() - job->asked < WARM_JOBS_PATIENCE;
	pthread_mutex_unlock(&jobs->lock);
	return is_wanted;
}

void warm_jobs_tell(struct warm_jobs *jobs, struct warm_job *job, const struct dsfs_warm *answer)
{
	pthread_mutex_lock(&jobs->lock);
	memcpy(&job->answer, answer, WARM_JOBS_ANSWER);
	pthread_mutex_unlock(&jobs->lock);
}

/* A waiting job is taken by the thread, which finds that it is not wanted. */
static bool warm_jobs_is_left(const struct warm_job *job, int64_t now)
{
	if (job->answer.state != DSFS_WARM_TAKES && !warm_jobs_is_over(job))
		return false;
	return job->is_told || now - job->asked >= WARM_JOBS_PATIENCE;
}

bool warm_jobs_sweep(struct warm_jobs *jobs)
{
	struct warm_job *left = NULL, *job, **link = &jobs->first;
	int64_t now = clock_now();
	bool has_jobs;

	pthread_mutex_lock(&jobs->lock);
	while ((job = *link)) {
		if (!warm_jobs_is_left(job, now)) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		jobs->count--;
		list_push(left, job, next);
	}
	jobs->end = link;
	has_jobs = jobs->first;
	pthread_mutex_unlock(&jobs->lock);
	while ((job = list_pop(left, next)))
		warm_jobs_free(job);
	return has_jobs;
}
