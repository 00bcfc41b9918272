/* SPDX-License-Identifier: MIT */
/* Keeps the jobs in a list, in the order in which they came. */
#include "serve/warm/warming.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "serve/version/nodeid.h"

static_assert(DSFS_WARM_MOST == DSFS_PREFETCH_MOST, "numbers of files go the same way");

void warming_open(struct warming *warming)
{
	*warming = (struct warming){ .number = (uint64_t)getpid() << 32 };
	warming->end = &warming->first;
	pthread_mutex_init(&warming->lock, NULL);
}

static void warming_free(struct warming_job *job)
{
	wanted_close(&job->wanted);
	generation_put(job->generation);
	free(job);
}

void warming_close(struct warming *warming)
{
	struct warming_job *job;

	while ((job = list_take(warming->first, warming->end, next)))
		warming_free(job);
	pthread_mutex_destroy(&warming->lock);
}

static bool warming_is_over(const struct warming_job *job)
{
	return job->answer.state >= DSFS_WARM_DONE;
}

/* ---- a new job ---- */

static int warming_new(struct generation *current, uint64_t sequence, struct warming_job **ret, struct error *err)
{
	struct warming_job *job;

	if (sequence && sequence != current->sequence)
		return error_set(err, -ESTALE, "the mount serves version '%s' now", current->opened.version.label);
	job = calloc(1, sizeof(*job));
	if (!job || wanted_open(&job->wanted, current->opened.index->shape.inode_count, NULL) < 0) {
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
static int warming_enter(struct warming *warming, struct warming_job *job, struct error *err)
{
	if (warming->count == WARMING_JOBS)
		return error_set(err, -EBUSY, "%u warm jobs are there already, try again when one has ended",
				 WARMING_JOBS);
	job->answer.job = job->number = ++warming->number;
	list_append(warming->end, job, next);
	warming->count++;
	return 0;
}

/* ---- commands ---- */

/* The caller holds the lock. */
static struct warming_job *warming_find(const struct warming *warming, uint64_t number)
{
	struct warming_job *job = warming->first;

	while (job && job->number != number)
		job = job->next;
	return job;
}

static int warming_add(struct warming_job *job, uint64_t number, struct error *err)
{
	if (!number)
		return 0;
	if (nodeid_may_be_of(number, job->generation->sequence) && wanted_add(&job->wanted, nodeid_ordinal(number)))
		return 0;
	return error_set(err, -ESTALE, "%#" PRIx64 " is no file of version '%s', which the mount serves", number,
			 job->generation->opened.version.label);
}

static int warming_add_all(struct warming_job *job, const struct dsfs_warm *command, struct error *err)
{
	int r = 0;

	if (command->count && job->answer.state != DSFS_WARM_TAKES)
		return error_set(err, -EINVAL, "files for a job that has begun");
	for (uint32_t i = 0; r == 0 && i < command->count; i++)
		r = warming_add(job, command->files[i], err);
	return r;
}

/* The caller holds the lock. */
static int warming_do(struct warming *warming, struct dsfs_warm *command, struct error *err)
{
	struct warming_job *job = warming_find(warming, command->job);
	int r;

	if (!job)
		return error_set(err, -ENOENT, "there is no warm job %#" PRIx64 ", begin again", command->job);
	r = warming_add_all(job, command, err);
	if (r < 0)
		return r;
	job->asked = clock_now();
	job->is_stopped |= command->flags & DSFS_WARM_STOP;
	if (job->answer.state == DSFS_WARM_TAKES && command->flags & DSFS_WARM_GO)
		job->answer.state = DSFS_WARM_WAITS;
	if (job->answer.state <= DSFS_WARM_WAITS && job->is_stopped)
		job->answer.state = DSFS_WARM_STOPPED;
	job->is_told |= warming_is_over(job);
	memcpy(command, &job->answer, WARMING_ANSWER);
	return 0;
}

int warming_command(struct warming *warming, struct generation *current, struct dsfs_warm *command, struct error *err)
{
	struct warming_job *job = NULL;
	int r = command->job ? 0 : warming_new(current, command->sequence, &job, err);

	if (r < 0)
		return r;
	pthread_mutex_lock(&warming->lock);
	if (job)
		r = warming_enter(warming, job, err);
	if (r == 0 && job)
		command->job = job->number;
	else if (job)
		warming_free(job);
	if (r == 0)
		r = warming_do(warming, command, err);
	pthread_mutex_unlock(&warming->lock);
	return r;
}

/* ---- the thread's side ---- */

struct warming_job *warming_take(struct warming *warming)
{
	struct warming_job *job;

	pthread_mutex_lock(&warming->lock);
	for (job = warming->first; job && job->answer.state != DSFS_WARM_WAITS;)
		job = job->next;
	if (job)
		job->answer.state = DSFS_WARM_LOOKS;
	pthread_mutex_unlock(&warming->lock);
	return job;
}

bool warming_is_wanted(struct warming *warming, const struct warming_job *job)
{
	bool is_wanted;

	pthread_mutex_lock(&warming->lock);
	is_wanted = !job->is_stopped && clock_now() - job->asked < WARMING_PATIENCE;
	pthread_mutex_unlock(&warming->lock);
	return is_wanted;
}

void warming_tell(struct warming *warming, struct warming_job *job, const struct dsfs_warm *answer)
{
	pthread_mutex_lock(&warming->lock);
	memcpy(&job->answer, answer, WARMING_ANSWER);
	pthread_mutex_unlock(&warming->lock);
}

/* A waiting job is taken by the thread, which finds that it is not wanted. */
static bool warming_is_left(const struct warming_job *job, int64_t now)
{
	if (job->answer.state != DSFS_WARM_TAKES && !warming_is_over(job))
		return false;
	return job->is_told || now - job->asked >= WARMING_PATIENCE;
}

bool warming_sweep(struct warming *warming)
{
	struct warming_job *left = NULL, *job, **link = &warming->first;
	int64_t now = clock_now();
	bool has_jobs;

	pthread_mutex_lock(&warming->lock);
	while ((job = *link)) {
		if (!warming_is_left(job, now)) {
			link = &job->next;
			continue;
		}
		*link = job->next;
		warming->count--;
		list_push(left, job, next);
	}
	warming->end = link;
	has_jobs = warming->first;
	pthread_mutex_unlock(&warming->lock);
	while ((job = list_pop(left, next)))
		warming_free(job);
	return has_jobs;
}
