/* SPDX-License-Identifier: MIT */
/* Has for each user the files that wait, from which the fetcher gets jobs: a run of neighbours, or some files
 * that have none. */
#include "serve/readahead/announced.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "read/op.h"
#include "serve/readahead/fetcher.h"
#include "serve/readahead/pick.h"
#include "serve/serve.h"
#include "serve/version/generation.h"

#define ANNOUNCED_OF_JOB 64u        /* files from which a job gets no further run */
#define ANNOUNCED_JOB    (4u << 20) /* bytes of the largest job */

static_assert(UPCOMING_BYTES + 2 * READ_MAX <= ANNOUNCED_JOB, "a run, its last file, and what came before it");

/* A user's files that wait, are being read, or are kept. The share is free when there are none. */
struct announced_share {
	uint32_t uid;
	bool may_switch;
	unsigned jobs;                 /* that the fetcher has */
	struct upcoming upcoming;
	struct generation *generation; /* of the files that wait, and pinned; NULL: there are none */
	struct kept_account account;
	uint64_t expired;              /* account.expired when it was last looked at */
};

struct announced {
	struct serve *serve;
	struct fetcher *fetcher;
	struct kept *kept;        /* the fetcher's cache */
	_Atomic uint32_t waiting; /* files that wait, of all users; changes under the lock */
	_Atomic bool is_full;     /* files may be waiting for room among those that are kept */
	pthread_mutex_t lock;     /* protects the fields below */
	struct announced_share shares[ANNOUNCED_USERS];
	unsigned turn;            /* the share that is looked at first for the next job */
};

struct announced_job {
	struct fetcher_job job; /* must be the first field */
	struct announced *announced;
	struct announced_share *share;
	uint64_t ordinals[PICK_FILES];
};

static struct fetcher_job *announced_next(void *owner);

int announced_start(struct serve *serve, struct error *err)
{
	struct fetcher_setup setup = { .most = serve->options.prefetch, .slots = FETCHER_SLOTS_MOST,
				       .next = announced_next,
				       .keeps = serve->options.cache_fill == MOUNT_FILL_READS };
	struct announced *all;
	int r;

	if (!serve->options.prefetch)
		return 0;
	all = calloc(1, sizeof(*all));
	if (!all)
		return error_no_memory(err);
	all->serve = serve;
	pthread_mutex_init(&all->lock, NULL);
	serve->announced = all;
	setup.owner = all;
	r = fetcher_start(serve, &setup, &all->fetcher, err);
	if (r == 0)
		all->kept = fetcher_kept(all->fetcher);
	return r;
}

enum kept_found announced_take(struct announced *all, const struct kept_range *range, struct kept_waiter *waiter,
			       struct kept_piece *ret)
{
	return all ? kept_take(all->kept, range, waiter, ret) : KEPT_NONE;
}

void announced_release(struct announced *all, const struct kept_piece *piece)
{
	kept_release(all->kept, piece);
	if (atomic_load_explicit(&all->is_full, memory_order_relaxed) && atomic_exchange(&all->is_full, false))
		fetcher_wake(all->fetcher);
}

struct fetcher *announced_fetcher(const struct announced *all)
{
	return all->fetcher;
}

void announced_tick(struct announced *all)
{
	if (all && atomic_load(&all->waiting))
		fetcher_wake(all->fetcher);
}

/* ---- shares; the caller holds the lock ---- */

static bool announced_is_free(const struct announced_share *share)
{
	return !share->upcoming.waiting && !share->jobs && !atomic_load(&share->account.bytes);
}

/* The user's share, or a free one; the last free one is for users who may switch. NULL: there is none. */
static struct announced_share *announced_share(struct announced *all, const struct announced_user *user)
{
	unsigned most = user->may_switch ? ANNOUNCED_USERS : ANNOUNCED_USERS - 1;
	struct announced_share *free = NULL, *share;

	for (share = all->shares; share < all->shares + ANNOUNCED_USERS; share++)
		if (share->uid == user->uid && !announced_is_free(share))
			return share;
	for (share = all->shares; share < all->shares + most && !free; share++)
		if (announced_is_free(share))
			free = share;
	return free;
}

/* Ends a change of the waiting files. A user without files that wait needs neither their version nor memory for
 * them. */
static void announced_changed(struct announced *all, struct announced_share *share)
{
	uint32_t waiting = 0;

	if (!share->upcoming.waiting) {
		upcoming_clear(&share->upcoming);
		if (share->generation)
			generations_unpin(&all->serve->generations, share->generation, false);
		share->generation = NULL;
	}
	for (unsigned i = 0; i < ANNOUNCED_USERS; i++)
		waiting += all->shares[i].upcoming.waiting;
	atomic_store(&all->waiting, waiting);
}

static void announced_clear(struct announced *all, struct announced_share *share)
{
	upcoming_clear(&share->upcoming);
	announced_changed(all, share);
}

/* The bytes that may be kept for the user: half of the budget, so that no user takes it from all others; all of it for
 * users who may switch. */
static uint64_t announced_most(const struct announced *all, const struct announced_share *share)
{
	return fetcher_budget(all->fetcher) / (share->may_switch ? 1 : 2);
}

/* How many files may still wait for the user. They take memory themselves, and so go by the bytes that may be kept. */
static uint32_t announced_room(const struct announced *all, const struct announced_share *share)
{
	uint64_t most = announced_most(all, share) / ANNOUNCED_FILE;

	if (!fetcher_may_read(all->fetcher) || upcoming_length(&share->upcoming) >= most)
		return 0;
	most -= upcoming_length(&share->upcoming);
	return most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

bool announced_stop(struct announced *all)
{
	bool has_ended = !all || fetcher_stop(all->fetcher);

	if (!all || !has_ended)
		return has_ended;
	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < ANNOUNCED_USERS; i++)
		announced_clear(all, &all->shares[i]);
	pthread_mutex_unlock(&all->lock);
	return true;
}

void announced_free(struct announced *all)
{
	if (!all)
		return;
	fetcher_free(all->fetcher);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- files that are announced ---- */

/* Readies the user's share for files of a version. Those of another are forgotten, as the mount has left it. */
static void announced_open(struct announced *all, struct announced_share *share, const struct announced_user *user,
			   const struct generation *generation)
{
	share->uid = user->uid;
	share->may_switch = user->may_switch;
	if (share->generation && share->generation != generation)
		announced_clear(all, share);
	if (!share->upcoming.waiting)
		share->expired = atomic_load(&share->account.expired);
}

static uint32_t announced_put(struct announced *all, struct announced_share *share, const struct announced_files *files)
{
	uint32_t room = announced_room(all, share), taken = files->count < room ? files->count : room;

	if (!share->generation && taken) {
		if (!generations_pin(files->generation))
			return 0;
		share->generation = files->generation;
	}
	if (taken && upcoming_add(&share->upcoming, files->files, taken, NULL) < 0)
		taken = 0;
	announced_changed(all, share);
	return taken;
}

uint32_t announced_add(struct announced *all, const struct announced_user *user, const struct announced_files *files,
		       uint32_t *ret_credit)
{
	struct announced_share *share;
	uint32_t taken = 0;

	*ret_credit = 0;
	pthread_mutex_lock(&all->lock);
	share = announced_share(all, user);
	if (share) {
		announced_open(all, share, user, files->generation);
		taken = announced_put(all, share, files);
		*ret_credit = announced_room(all, share);
	}
	pthread_mutex_unlock(&all->lock);
	if (taken)
		fetcher_wake(all->fetcher);
	return taken;
}

/* It does not wait for the lock: if another thread has it, the file is read twice. */
void announced_forget(struct announced *all, const struct generation *generation, const struct inode *inode)
{
	uint64_t address;

	if (!all || !atomic_load_explicit(&all->waiting, memory_order_relaxed))
		return;
	address = pick_where(generation->opened.index, inode).address;
	if (pthread_mutex_trylock(&all->lock) != 0)
		return;
	for (struct announced_share *share = all->shares; share < all->shares + ANNOUNCED_USERS; share++) {
		if (share->generation != generation)
			continue;
		upcoming_forget(&share->upcoming, address, inode->ordinal);
		announced_changed(all, share);
	}
	pthread_mutex_unlock(&all->lock);
}

/* ---- jobs ---- */

static void announced_done(struct fetcher_job *done)
{
	struct announced_job *job = (struct announced_job *)done; /* its first field */

	pthread_mutex_lock(&job->announced->lock);
	job->share->jobs--;
	pthread_mutex_unlock(&job->announced->lock);
	free(job);
}

/* Takes files of the share. The job has its own pin of their version. */
static struct announced_job *announced_make(struct announced *all, struct announced_share *share)
{
	struct announced_job *job = calloc(1, sizeof(*job));
	uint64_t size, bytes = 0;
	uint32_t count = 1;

	if (!job || !generations_pin(share->generation)) {
		free(job);
		return NULL;
	}
	job->announced = all;
	job->share = share;
	job->job = (struct fetcher_job){ .generation = share->generation, .account = &share->account,
					 .ordinals = job->ordinals, .done = announced_done };
	for (; count && job->job.count < ANNOUNCED_OF_JOB && bytes < READ_MAX; bytes += size) {
		count = upcoming_take(&share->upcoming, job->ordinals + job->job.count,
				      PICK_FILES - job->job.count, &size);
		job->job.count += count;
	}
	share->jobs++;
	announced_changed(all, share);
	return job;
}

/* If the files that were kept for the user were never read, the waiting ones will not be read either. */
static void announced_expire(struct announced *all, struct announced_share *share)
{
	uint64_t expired = atomic_load(&share->account.expired);

	if (expired != share->expired && share->upcoming.waiting)
		announced_clear(all, share);
	share->expired = expired;
}

/* Whether a job of the user can begin: nothing that is kept has to make room for it. */
static bool announced_is_ready(const struct announced *all, const struct announced_share *share)
{
	uint64_t used = atomic_load(&share->account.bytes);

	if (!share->upcoming.waiting)
		return false;
	return !used || (used + ANNOUNCED_JOB <= announced_most(all, share) &&
			 kept_bytes(all->kept) + ANNOUNCED_JOB <= fetcher_budget(all->fetcher));
}

static struct fetcher_job *announced_next(void *owner)
{
	struct announced *all = owner;
	struct announced_job *job = NULL;

	if (!atomic_load(&all->waiting))
		return NULL;
	atomic_store(&all->is_full, true); /* before it looks, as a READ may make room at any time */
	pthread_mutex_lock(&all->lock);
	for (unsigned i = 0; i < ANNOUNCED_USERS && !job; i++) {
		struct announced_share *share = &all->shares[all->turn++ % ANNOUNCED_USERS];

		announced_expire(all, share);
		if (announced_is_ready(all, share))
			job = announced_make(all, share);
	}
	pthread_mutex_unlock(&all->lock);
	if (!job)
		return NULL;
	atomic_store(&all->is_full, false);
	return &job->job;
}
