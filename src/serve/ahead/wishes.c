/* SPDX-License-Identifier: MIT */
/* Counts for each user the files that wait to be read and the bytes that are kept, and posts jobs within the limits. */
#include "serve/ahead/wishes.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "read/op.h"
#include "serve/ahead/fetcher.h"
#include "serve/serve.h"
#include "serve/version/generation.h"

#define WISHES_JOBS (WISHES_OF_USER / WISHES_OF_JOB) /* limit of a user's jobs, which may have few files each */

static_assert(WISHES_USERS * WISHES_JOBS <= FETCHER_JOBS, "there is a place in the queue for each user");

/* The files that a user has waiting. files 0: the share is free, and all its counts are 0. */
struct wishes_share {
	uint32_t uid, files, jobs;
	uint64_t bytes;
};

struct wishes {
	struct fetcher *fetcher;
	struct kept *kept; /* the fetcher's cache */
	pthread_mutex_t lock; /* protects the shares */
	struct wishes_share shares[WISHES_USERS];
};

struct wishes_job {
	struct fetcher_job job; /* must be the first field */
	struct wishes *wishes;
	uint64_t bytes; /* bytes of its files */
	uint64_t ordinals[WISHES_OF_JOB];
};

/* The files and bytes that a user may still add. */
struct wishes_room {
	uint32_t files;
	uint64_t bytes;
};

int wishes_start(struct serve *serve, struct error *err)
{
	struct wishes *wishes;
	int r;

	if (!serve->options.prefetch)
		return 0;
	wishes = calloc(1, sizeof(*wishes));
	if (!wishes)
		return error_no_memory(err);
	pthread_mutex_init(&wishes->lock, NULL);
	serve->wishes = wishes;
	r = fetcher_start(serve, serve->options.prefetch, FETCHER_SLOTS_MOST, &wishes->fetcher, err);
	if (r == 0)
		wishes->kept = fetcher_kept(wishes->fetcher);
	return r;
}

bool wishes_stop(struct wishes *wishes)
{
	return !wishes || fetcher_stop(wishes->fetcher);
}

void wishes_free(struct wishes *wishes)
{
	if (!wishes)
		return;
	fetcher_free(wishes->fetcher);
	pthread_mutex_destroy(&wishes->lock);
	free(wishes);
}

enum kept_found wishes_take(struct wishes *wishes, const struct ahead_wish *wish, struct kept_waiter *waiter,
			    struct kept_piece *ret)
{
	return wishes ? kept_take(wishes->kept, wish->generation->key, wish->ordinal, wish->offset, wish->size, waiter,
				  ret) :
			KEPT_NONE;
}

void wishes_release(struct wishes *wishes, const struct kept_piece *piece)
{
	kept_release(wishes->kept, piece);
}

void wishes_tick(struct wishes *wishes)
{
	if (wishes)
		fetcher_tick(wishes->fetcher);
}

void wishes_renew(struct wishes *wishes)
{
	if (wishes)
		fetcher_renew(wishes->fetcher);
}

struct fetcher *wishes_fetcher(const struct wishes *wishes)
{
	return wishes->fetcher;
}

/* ---- shares ---- */

/* The user's share, or a free one; the last free one is for users who may switch. NULL: there is none. The caller holds
 * the lock. */
static struct wishes_share *wishes_share(struct wishes *wishes, const struct wishes_user *user)
{
	unsigned most = user->may_switch ? WISHES_USERS : WISHES_USERS - 1;
	struct wishes_share *free = NULL, *share;

	for (share = wishes->shares; share < wishes->shares + WISHES_USERS; share++)
		if (share->files && share->uid == user->uid)
			return share;
	for (share = wishes->shares; share < wishes->shares + most && !free; share++)
		if (!share->files)
			free = share;
	return free;
}

static void wishes_give_back(struct wishes *wishes, const struct wishes_job *job)
{
	struct wishes_user user = { job->job.owner, true };
	struct wishes_share *share;

	pthread_mutex_lock(&wishes->lock);
	share = wishes_share(wishes, &user);
	share->files -= job->job.count;
	share->jobs--;
	share->bytes -= job->bytes;
	pthread_mutex_unlock(&wishes->lock);
}

/* The room that a user has left: half of the budget, so that no user takes it from all others; all of it for users who
 * may switch. used: bytes that are kept for the user. */
static struct wishes_room wishes_room(const struct wishes *wishes, const struct wishes_user *user,
				      const struct wishes_share *share, uint64_t used)
{
	uint64_t most = fetcher_budget(wishes->fetcher) / (user->may_switch ? 1 : 2);
	struct wishes_room room = { 0 };
	uint32_t files;

	if (!share)
		return room;
	used += share->bytes;
	files = (WISHES_JOBS - share->jobs) * WISHES_OF_JOB;
	room.files = WISHES_OF_USER - share->files < files ? WISHES_OF_USER - share->files : files;
	room.bytes = used < most ? most - used : 0;
	return room;
}

/* ---- jobs ---- */

static void wishes_done(struct fetcher_job *done)
{
	struct wishes_job *job = (struct wishes_job *)done; /* its first field */

	wishes_give_back(job->wishes, job);
	free(job);
}

/* Fills a job with the first of the files, as far as there is room. Returns how many files that covers. */
static uint32_t wishes_fill(struct wishes_job *job, const struct wish *files, uint32_t count, struct wishes_room room)
{
	uint32_t taken;

	for (taken = 0; taken < count && job->job.count < WISHES_OF_JOB; taken++) {
		if (!files[taken].size || files[taken].size > READ_MAX)
			continue;
		if (job->job.count == room.files || job->bytes + files[taken].size > room.bytes)
			break;
		job->ordinals[job->job.count++] = files[taken].ordinal;
		job->bytes += files[taken].size;
	}
	return taken;
}

static struct wishes_job *wishes_new(struct wishes *wishes, const struct wishes_user *user,
				     struct generation *generation)
{
	struct wishes_job *job = calloc(1, sizeof(*job));

	if (!job)
		return NULL;
	job->wishes = wishes;
	job->job = (struct fetcher_job){ .generation = generation,
				       .owner = user->uid,
				       .ordinals = job->ordinals,
				       .done = wishes_done };
	return job;
}

static uint32_t wishes_reserve(struct wishes *wishes, const struct wishes_user *user, struct wishes_job *job,
			       const struct wish *files, uint32_t count)
{
	uint64_t kept = kept_bytes_of(wishes->kept, user->uid);
	struct wishes_share *share;
	uint32_t taken;

	pthread_mutex_lock(&wishes->lock);
	share = wishes_share(wishes, user);
	taken = wishes_fill(job, files, count, wishes_room(wishes, user, share, kept));
	if (job->job.count) {
		share->uid = user->uid;
		share->files += job->job.count;
		share->jobs++;
		share->bytes += job->bytes;
	}
	pthread_mutex_unlock(&wishes->lock);
	return taken;
}

/* Posts one job with the first of the files. Returns how many files that covers; 0: there is no room for any. */
static uint32_t wishes_post(struct wishes *wishes, const struct wishes_user *user, struct generation *generation,
			    const struct wish *files, uint32_t count)
{
	struct wishes_job *job = wishes_new(wishes, user, generation);
	uint32_t taken = job ? wishes_reserve(wishes, user, job, files, count) : 0;

	if (!job || !job->job.count) {
		free(job);
		return taken;
	}
	if (fetcher_post(wishes->fetcher, &job->job))
		return taken;
	wishes_give_back(wishes, job);
	free(job);
	return 0;
}

static uint32_t wishes_credit(struct wishes *wishes, const struct wishes_user *user)
{
	uint64_t kept = kept_bytes_of(wishes->kept, user->uid);
	struct wishes_room room;

	pthread_mutex_lock(&wishes->lock);
	room = wishes_room(wishes, user, wishes_share(wishes, user), kept);
	pthread_mutex_unlock(&wishes->lock);
	return room.bytes ? room.files : 0;
}

uint32_t wishes_add(struct wishes *wishes, const struct wishes_user *user, struct generation *generation,
		    const struct wish *files, uint32_t count, uint32_t *ret_credit)
{
	uint32_t taken = 0, posted = 1;

	for (; taken < count && posted; taken += posted)
		posted = wishes_post(wishes, user, generation, files + taken, count - taken);
	*ret_credit = taken == count ? wishes_credit(wishes, user) : 0;
	return taken;
}
