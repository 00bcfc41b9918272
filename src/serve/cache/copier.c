/* SPDX-License-Identifier: MIT */
/* Has a use of the version for each job, so that it is not closed meanwhile. */
#include "serve/cache/copier.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/list.h"
#include "base/log.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "cache/copy.h"
#include "cache/folder.h"
#include "cache/mount_links.h"

#define COPIER_JOBS 8u /* that may wait, each with a version in memory */

struct copier_job {
	struct copier_job *next;
	struct generation *generation; /* to be copied; NULL: a copy is to be removed */
	struct copy wrong;             /* that one */
	uint8_t volume[16];            /* UUID */
	uint32_t count; /* of sums */
	uint8_t sums[][32]; /* of all bytes that versions may have copies of */
};

struct copier {
	int folder;
	const char *path;
	struct thread thread;
	struct wake wake;
	_Atomic bool ended;
	const uint8_t *volume;    /* UUID, with: */
	const char *name, *place; /* of the mount's socket; NULL: there is none */
	pthread_mutex_t lock; /* protects all below */
	struct copier_job *first, **end;
	unsigned count;
};

static struct copier_job *copier_new_job(const uint8_t volume[16], uint32_t sums)
{
	struct copier_job *job = calloc(1, sizeof(*job) + sums * sizeof(job->sums[0]));

	if (job)
		memcpy(job->volume, volume, sizeof(job->volume));
	return job;
}

static void copier_free_job(struct copier_job *job)
{
	if (job)
		generation_put(job->generation);
	free(job);
}

/* ---- the thread ---- */

static void copier_tell(const struct copier *copier, const struct copier_job *job, const struct error *why)
{
	static struct log_limit limit = { .burst = 5 };
	unsigned suppressed;

	if (why->code != -EWOULDBLOCK && why->code != -ECANCELED && log_allow(&limit, &suppressed))
		log_warn("cache '%s': the index of version '%s' is not copied: %s, suppressed=%u", copier->path,
			 job->generation->opened.version.label, why->reason, suppressed);
}

static int copier_write(struct copier *copier, int volume, const struct copy *copy, const void *bytes,
			struct error *err)
{
	return copy_exists(volume, copy) ? 0 : copy_write(volume, copy, bytes, &copier->ended, err);
}

static int copier_write_all(struct copier *copier, const struct generation *generation, int volume, struct error *err)
{
	struct copy copy = copy_of(&generation->opened.version, COPY_INDEX);
	int r = copier_write(copier, volume, &copy, generation->opened.index->map, err);
	const void *head;

	if (r < 0 || !generation->opened.block_sums)
		return r;
	copy = copy_of(&generation->opened.version, COPY_BLOCK_SUMS);
	head = block_sums_head(generation->opened.block_sums, &copy.length);
	return copier_write(copier, volume, &copy, head, err);
}

static void copier_remove(const struct copier *copier, const struct copier_job *job)
{
	auto_close int volume = -1;

	if (folder_volume(copier->folder, job->volume, &volume, NULL) == 0)
		copy_remove(volume, &job->wrong);
}

static void copier_do(struct copier *copier, const struct copier_job *job)
{
	auto_close int volume = -1;
	struct error err = { 0 };
	int r = folder_make_volume(copier->folder, job->volume, &volume, &err);

	if (r == 0)
		r = copy_prune(volume, job->sums, job->count, &err);
	if (r == 0)
		r = copier_write_all(copier, job->generation, volume, &err);
	if (r < 0)
		copier_tell(copier, job, &err);
}

static struct copier_job *copier_take(struct copier *copier)
{
	struct copier_job *job;

	pthread_mutex_lock(&copier->lock);
	job = list_take(copier->first, copier->end, next);
	copier->count -= job != NULL;
	pthread_mutex_unlock(&copier->lock);
	return job;
}

static void copier_appear(const struct copier *copier)
{
	auto_close int volume = -1;
	struct error err = { 0 };
	int r = folder_make_volume(copier->folder, copier->volume, &volume, &err);

	if (r == 0)
		r = mount_links_add(volume, copier->name, copier->place, &err);
	if (r < 0)
		log_warn("cache '%s': other mounts cannot share the index of this one: %s", copier->path, err.reason);
}

static void copier_disappear(const struct copier *copier)
{
	auto_close int volume = -1;

	if (folder_volume(copier->folder, copier->volume, &volume, NULL) == 0)
		mount_links_remove(volume, copier->name);
}

static void copier_main(void *argument)
{
	struct copier *copier = argument;
	struct copier_job *job;

	if (copier->name)
		copier_appear(copier);
	while (!atomic_load(&copier->ended)) {
		job = copier_take(copier);
		if (job && job->generation)
			copier_do(copier, job);
		else if (job)
			copier_remove(copier, job);
		else
			wake_wait(&copier->wake, -1);
		copier_free_job(job);
	}
	if (copier->name)
		copier_disappear(copier);
}

/* ---- other threads ---- */

static struct copier_job *copier_job(const struct catalogue *catalogue, struct generation *generation)
{
	struct copier_job *job = copier_new_job(catalogue->volume_uuid, catalogue->version_count * 2);

	if (!job)
		return NULL;
	for (uint32_t i = 0; i < catalogue->version_count; i++) {
		memcpy(job->sums[job->count++], catalogue->versions[i].index.sha256, sizeof(job->sums[0]));
		memcpy(job->sums[job->count++], catalogue->versions[i].block_sums.sha256, sizeof(job->sums[0]));
	}
	generation_get(generation);
	job->generation = generation;
	return job;
}

/* Takes the job; NULL: there was no memory for it. */
static void copier_add(struct copier *copier, struct copier_job *job)
{
	bool has_room;

	if (!job)
		return;
	pthread_mutex_lock(&copier->lock);
	has_room = copier->count < COPIER_JOBS;
	if (has_room)
		list_append(copier->end, job, next);
	copier->count += has_room;
	pthread_mutex_unlock(&copier->lock);
	if (has_room)
		wake_up(&copier->wake);
	else
		copier_free_job(job);
}

void copier_post(struct copier *copier, const struct catalogue *catalogue, struct generation *generation)
{
	copier_add(copier, copier_job(catalogue, generation));
}

void copier_reject(struct copier *copier, const uint8_t volume[16], const struct copy *copy)
{
	struct copier_job *job = copier_new_job(volume, 0);

	if (job)
		job->wrong = *copy;
	copier_add(copier, job);
}

int copier_new(int folder, const char *path, struct copier **ret, struct error *err)
{
	struct copier *copier = calloc(1, sizeof(*copier));
	int r;

	if (!copier)
		return error_no_memory(err);
	r = wake_open(&copier->wake, err);
	if (r < 0) {
		free(copier);
		return r;
	}
	copier->folder = folder;
	copier->path = path;
	copier->end = &copier->first;
	pthread_mutex_init(&copier->lock, NULL);
	*ret = copier;
	return 0;
}

void copier_announce(struct copier *copier, const uint8_t volume[16], const char *name, const char *path)
{
	copier->volume = volume;
	copier->name = name;
	copier->place = path;
}

int copier_start(struct copier *copier, struct error *err)
{
	const struct thread_setup setup = { .run = copier_main, .argument = copier,
					    .what = "the thread that copies indexes" };

	return thread_start(&copier->thread, 1, &setup, err);
}

bool copier_stop(struct copier *copier)
{
	bool has_ended;

	atomic_store(&copier->ended, true);
	wake_up(&copier->wake);
	has_ended = thread_join_soon(&copier->thread);
	if (!has_ended)
		log_warn("the drive of cache '%s' does not answer, the daemon ends without it", copier->path);
	return has_ended;
}

void copier_free(struct copier *copier)
{
	struct copier_job *job;

	if (!copier)
		return;
	while ((job = copier_take(copier)))
		copier_free_job(job);
	wake_close(&copier->wake);
	pthread_mutex_destroy(&copier->lock);
	free(copier);
}
