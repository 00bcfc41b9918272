/* SPDX-License-Identifier: MIT */
/* Counts for each user the files that wait to be read and the bytes that are kept, and posts jobs within the limits. */
#include "serve/ahead/announced.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "read/op.h"
#include "serve/ahead/fetcher.h"
#include "serve/serve.h"
#include "serve/version/generation.h"

/* Limit of a user's jobs, which may have few files each. */
#define ANNOUNCED_JOBS (ANNOUNCED_OF_USER / ANNOUNCED_OF_JOB)

static_assert(ANNOUNCED_USERS * ANNOUNCED_JOBS <= FETCHER_JOBS, "there is a place in the queue for each user");

/* The files that a user has waiting. files 0: the share is free, and all its counts are 0. */
struct announced_share {
	uint32_t uid, files, jobs;
	uint64_t bytes;
};

struct announced {
	struct fetcher *fetcher;
	struct kept *kept; /* the fetcher's cache */
	pthread_mutex_t lock; /* protects the shares */
	struct announced_share shares[ANNOUNCED_USERS];
};

struct announced_job {
	struct fetcher_job job; /* must be the first field */
	struct announced *announced;
	uint64_t bytes; /* bytes of its files */
	uint64_t ordinals[ANNOUNCED_OF_JOB];
};

/* The files and bytes that a user may still add. */
struct announced_room {
	uint32_t files;
	uint64_t bytes;
};

int announced_start(struct serve *serve, struct error *err)
{
	struct announced *all;
	int r;

	if (!serve->options.prefetch)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all)
		return error_no_memory(err);
	pthread_mutex_init(&all->lock, NULL);
	serve->announced = all;
	r = fetcher_start(serve, serve->options.prefetch, FETCHER_SLOTS_MOST, &all->fetcher, err);
	if (r == 0)
		all->kept = fetcher_kept(all->fetcher);
	return r;
}

bool announced_stop(struct announced *all)
{
	return !all || fetcher_stop(all->fetcher);
}

void announced_free(struct announced *all)
{
	if (!all)
		return;
	fetcher_free(all->fetcher);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

enum kept_found announced_take(struct announced *all, const struct kept_range *range, struct kept_waiter *waiter,
			       struct kept_piece *ret)
{
	return all ? kept_take(all->kept, range, waiter, ret) : KEPT_NONE;
}

void announced_release(struct announced *all, const struct kept_piece *piece)
{
	kept_release(all->kept, piece);
}

struct fetcher *announced_fetcher(const struct announced *all)
{
	return all->fetcher;
}

/* ---- shares ---- */

/* The user's share, or a free one; the last free one is for users who may switch. NULL: there is none. The caller holds
 * the lock. */
static struct announced_share *announced_share(struct announced *all, const struct announced_user *user)
{
	unsigned most = user->may_switch ? ANNOUNCED_USERS : ANNOUNCED_USERS - 1;
	struct announced_share *free = NULL, *share;

	for (share = all->shares; share < all->shares + ANNOUNCED_USERS; share++)
		if (share->files && share->uid == user->uid)
			return share;
	for (share = all->shares; share < all->shares + most && !free; share++)
		if (!share->files)
			free = share;
	return free;
}

static void announced_give_back(struct announced *all, const struct announced_job *job)
{
	struct announced_user user = { job->job.owner, true };
	struct announced_share *share;

	pthread_mutex_lock(&all->lock);
	share = announced_share(all, &user);
	share->files -= job->job.count;
	share->jobs--;
	share->bytes -= job->bytes;
	pthread_mutex_unlock(&all->lock);
}

/* The room that a user has left: half of the budget, so that no user takes it from all others; all of it for users who
 * may switch. used: bytes that are kept for the user. */
static struct announced_room announced_room(const struct announced *all, const struct announced_user *user,
				      const struct announced_share *share, uint64_t used)
{
	uint64_t most = fetcher_budget(all->fetcher) / (user->may_switch ? 1 : 2);
	struct announced_room room = { 0 };
	uint32_t files;

	if (!share)
		return room;
	used += share->bytes;
	files = (ANNOUNCED_JOBS - share->jobs) * ANNOUNCED_OF_JOB;
	room.files = ANNOUNCED_OF_USER - share->files < files ? ANNOUNCED_OF_USER - share->files : files;
	room.bytes = used < most ? most - used : 0;
	return room;
}

/* ---- jobs ---- */

static void announced_done(struct fetcher_job *done)
{
	struct announced_job *job = (struct announced_job *)done; /* its first field */

	announced_give_back(job->announced, job);
	free(job);
}

/* Fills a job with the first of the files, as far as there is room. Returns how many files that covers. */
static uint32_t announced_fill(struct announced_job *job, const struct announced_file *files, uint32_t count,
			       struct announced_room room)
{
	uint32_t taken;

	for (taken = 0; taken < count && job->job.count < ANNOUNCED_OF_JOB; taken++) {
		if (!files[taken].size || files[taken].size > READ_MAX)
			continue;
		if (job->job.count == room.files || job->bytes + files[taken].size > room.bytes)
			break;
		job->ordinals[job->job.count++] = files[taken].ordinal;
		job->bytes += files[taken].size;
	}
	return taken;
}

static struct announced_job *announced_new(struct announced *all, const struct announced_user *user,
				     struct generation *generation)
{
	struct announced_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->announced = all;
	job->job = (struct fetcher_job){ .generation = generation,
				       .owner = user->uid,
				       .ordinals = job->ordinals,
				       .done = announced_done };
	return job;
}

static uint32_t announced_reserve(struct announced *all, const struct announced_user *user, struct announced_job *job,
			       const struct announced_file *files, uint32_t count)
{
	uint64_t kept = kept_bytes_of(all->kept, user->uid);
	struct announced_share *share;
	uint32_t taken;

	pthread_mutex_lock(&all->lock);
	share = announced_share(all, user);
	taken = announced_fill(job, files, count, announced_room(all, user, share, kept));
	if (job->job.count) {
		share->uid = user->uid;
		share->files += job->job.count;
		share->jobs++;
		share->bytes += job->bytes;
	}
	pthread_mutex_unlock(&all->lock);
	return taken;
}

/* Posts one job with the first of the files. Returns how many files that covers; 0: there is no room for any. */
static uint32_t announced_post(struct announced *all, const struct announced_user *user, struct generation *generation,
			    const struct announced_file *files, uint32_t count)
{
	struct announced_job *job = announced_new(all, user, generation);
	uint32_t taken = job ? announced_reserve(all, user, job, files, count) : 0;

	if (!job || !job->job.count) {
		free(job);
		return taken;
	}
	if (fetcher_post(all->fetcher, &job->job))
		return taken;
	announced_give_back(all, job);
	free(job);
	return 0;
}

static uint32_t announced_credit(struct announced *all, const struct announced_user *user)
{
	uint64_t kept = kept_bytes_of(all->kept, user->uid);
	struct announced_room room;

	pthread_mutex_lock(&all->lock);
	room = announced_room(all, user, announced_share(all, user), kept);
	pthread_mutex_unlock(&all->lock);
	return room.bytes ? room.files : 0;
}

uint32_t announced_add(struct announced *all, const struct announced_user *user, struct generation *generation,
		    const struct announced_file *files, uint32_t count, uint32_t *ret_credit)
{
	uint32_t taken = 0, posted = 1;

	for (; taken < count && posted; taken += posted)
		posted = announced_post(all, user, generation, files + taken, count - taken);
	*ret_credit = taken == count ? announced_credit(all, user) : 0;
	return taken;
}
