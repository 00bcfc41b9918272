/* SPDX-License-Identifier: MIT */
/* Carries out one job after the other, in passes: each looks which files are missing, reads them in the order of their
 * places, and waits until they are written. Another one follows while the last one has helped, as readers that fill the
 * cache meanwhile may have taken the room. */
#include "serve/cache/warmer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/lowest.h"
#include "base/thread/thread.h"
#include "image/names/names.h"
#include "read/cached.h"
#include "serve/cache/cached_files.h"
#include "serve/cache/legs.h"
#include "serve/cache/warm_jobs.h"

#define WARMER_PASSES 8u               /* of a job, at most */
#define WARMER_NAP    INT64_C(2000000)  /* ns between two looks whether there is room */
#define WARMER_LOOK   INT64_C(20000000) /* ns between two looks whether a job is still wanted */
#define WARMER_END    INT64_C(2000000000) /* ns that the last writes of a job may take after its end */
#define WARMER_LOCK   INT64_C(3000000000) /* ns for which another process may have the lock of the cache */
#define WARMER_TURN   4096u             /* files that are looked at between two of these */
#define WARMER_IDLE   1000              /* ms between two looks for jobs that have ended and that no process asks
                                         * about */

struct warmer {
	struct counters counters;
	struct serve *serve;
	struct thread thread;
	struct wake wake;
	struct warm_jobs jobs;
	_Atomic bool renew;
	bool is_stuck; /* warmer_stop() left the thread behind */
	/* Thread only: */
	struct legs legs;
	struct warm_job *job;
	struct dsfs_warm answer; /* of the job */
	struct cached_files counts; /* as of the last look */
	struct lowest window;    /* files that are missing, from the lowest place on */
	struct legs_file last;   /* of the window before */
	int64_t looked;          /* when it last looked whether the job is wanted */
};

static struct store *warmer_store(const struct warmer *warmer)
{
	return warmer->serve->cached->store;
}

/* ---- whether to go on ---- */

static bool warmer_has_ended(const struct warmer *warmer)
{
	return warmer->answer.state >= DSFS_WARM_DONE;
}

static void warmer_end(struct warmer *warmer, uint32_t state, const char *reason)
{
	if (warmer_has_ended(warmer))
		return;
	warmer->answer.state = state;
	snprintf(warmer->answer.reason, sizeof(warmer->answer.reason), "%s", reason);
}

/* The label is read under the lock, as that version may be closed at any time. */
static void warmer_check_version(struct warmer *warmer)
{
	struct generations *generations = &warmer->serve->generations;
	const struct generation *current;
	char reason[DSFS_LABEL_MAX + 64];

	pthread_mutex_lock(&generations->lock);
	current = generations_current(generations);
	snprintf(reason, sizeof(reason), "the mount was switched to version '%s'", current->opened.version.label);
	pthread_mutex_unlock(&generations->lock);
	if (current != warmer->job->generation)
		warmer_end(warmer, DSFS_WARM_FAILED, reason);
}

static bool warmer_goes_on(struct warmer *warmer)
{
	int64_t now = clock_now();

	if (now - warmer->looked < WARMER_LOOK)
		return !warmer_has_ended(warmer);
	warmer->looked = now;
	if (!atomic_load(&warmer->legs.goes_on))
		warmer_end(warmer, DSFS_WARM_STOPPED, "the daemon ends");
	if (!warm_jobs_is_wanted(&warmer->jobs, warmer->job))
		warmer_end(warmer, DSFS_WARM_STOPPED, "");
	(void)warm_jobs_sweep(&warmer->jobs);
	warmer_check_version(warmer);
	warmer->answer.read = (struct dsfs_warm_count){ warmer->legs.files, warmer->legs.bytes };
	if (!warmer_has_ended(warmer))
		warm_jobs_tell(&warmer->jobs, warmer->job, &warmer->answer);
	return !warmer_has_ended(warmer);
}

/* Names the first file that cannot be read. */
static void warmer_end_unread(struct warmer *warmer)
{
	const struct index *index = warmer->job->generation->opened.index;
	const struct legs *legs = &warmer->legs;
	char reason[sizeof(warmer->answer.reason)], path[200];

	inode_path(index, legs->first, path, sizeof(path));
	snprintf(reason, sizeof(reason), "%" PRIu64 " %s cannot be read, the first is '%s': %.240s", legs->failed,
		 legs->failed == 1 ? "file" : "files", path, legs->why.reason);
	warmer_end(warmer, DSFS_WARM_FAILED, reason);
}

/* A cache that was removed still has its chunks for this mount, but for no later one, and takes no more. */
static void warmer_check_removed(struct warmer *warmer)
{
	if (store_is_removed(warmer_store(warmer)))
		warmer_end(warmer, DSFS_WARM_FAILED, "the cache was removed, mount again");
}

/* Whether the cache takes chunks, or will soon. */
static void warmer_check_store(struct warmer *warmer)
{
	const struct store *store = warmer_store(warmer);
	char reason[160];

	warmer_check_removed(warmer);
	switch (store_admission(store)) {
	case STORE_FULL:
		warmer_end(warmer, DSFS_WARM_FULL, "");
		break;
	case STORE_FOLLOWS:
		warmer_end(warmer, DSFS_WARM_FAILED,
			   "another mount of the volume on this machine fills its cache, warm that one");
		break;
	case STORE_FAILS:
		snprintf(reason, sizeof(reason), "the cache cannot be written to: %s",
			 strerror(store_failure(store)));
		warmer_end(warmer, DSFS_WARM_FAILED, reason);
		break;
	case STORE_ADMITS:
	case STORE_LOADS:
	case STORE_REMOVED:
		break;
	}
}

static void warmer_wait(struct warmer *warmer, int64_t limit)
{
	legs_wait(&warmer->legs, limit);
	if (atomic_exchange(&warmer->renew, false))
		legs_renew(&warmer->legs);
}

/* ---- a look ---- */

/* Files with damaged records have one address, but no chunk in common: each of them is tried and counted. */
static int warmer_compare(const void *a, const void *b)
{
	const struct legs_file *x = a, *y = b;

	if (x->address == y->address && x->address == CACHED_FILE_DAMAGED)
		return (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
	return (x->address > y->address) - (x->address < y->address);
}

/* If missing files share their first missing chunk, only one is read; the next pass reads the rest. */
static void warmer_merge(void *kept, const void *other)
{
	(void)kept;
	(void)other;
}

static const struct lowest_kind warmer_kind = {
	.size = sizeof(struct legs_file),
	.compare = warmer_compare,
	.merge = warmer_merge,
};

/* Looks at one file. is_first: it is counted. */
static void warmer_see(struct warmer *warmer, uint64_t ordinal, bool is_first)
{
	const struct index *index = warmer->job->generation->opened.index;
	struct legs_file missing = { .ordinal = ordinal };
	struct cached_file file;
	struct inode inode;

	if (inode_get(index, ordinal, &inode, NULL) < 0 || !S_ISREG(inode.mode))
		return;
	file = cached_files_find(warmer_store(warmer), index, &inode);
	if (is_first)
		cached_files_add(&warmer->counts, &file, inode.size);
	missing.address = file.address;
	if (file.place == CACHED_FILE_MISSING && warmer_compare(&missing, &warmer->last) > 0)
		lowest_add(&warmer->window, &missing);
}

/* Goes to the end even if the job has ended, to count the files that fitted. */
static void warmer_see_all(struct warmer *warmer, bool is_first)
{
	const struct file_set *wanted = &warmer->job->wanted;
	unsigned turn = 0;

	for (uint64_t i = file_set_next(wanted, 1); i; i = file_set_next(wanted, i + 1)) {
		warmer_see(warmer, i, is_first);
		if (++turn % WARMER_TURN)
			continue;
		(void)warmer_goes_on(warmer);
		if (!atomic_load(&warmer->legs.goes_on))
			return;
	}
}

/* Fills the window with the missing files that come next. */
static void warmer_fill(struct warmer *warmer, bool is_first)
{
	lowest_begin(&warmer->window);
	warmer_see_all(warmer, is_first);
	lowest_sort(&warmer->window);
}

/* Counts, and begins a pass. The last look of a job is here too. */
static void warmer_look(struct warmer *warmer)
{
	warmer_check_removed(warmer);
	warmer->counts = (struct cached_files){ 0 };
	warmer->last = (struct legs_file){ 0 };
	warmer_fill(warmer, true);
}

/* ---- a pass ---- */

/* Waits for a slot, and for room in the cache, so that no read is wasted. */
static bool warmer_may_read(struct warmer *warmer)
{
	warmer_check_store(warmer);
	if (legs_fail(&warmer->legs))
		warmer_end_unread(warmer);
	if (!warmer_goes_on(warmer))
		return false;
	if (!queue_has_room(&warmer->legs.queue))
		warmer_wait(warmer, WARMER_LOOK);
	else if (!store_has_room(warmer_store(warmer)))
		warmer_wait(warmer, WARMER_NAP);
	else
		return true;
	return false;
}

/* Begins to read the next files, or waits. Returns how many files it took. */
static size_t warmer_step(struct warmer *warmer, const struct legs_file *files, size_t count)
{
	if (count)
		return warmer_may_read(warmer) ? legs_read(&warmer->legs, files, count) : 0;
	warmer_wait(warmer, WARMER_LOOK);
	(void)warmer_goes_on(warmer);
	return 0;
}

static void warmer_read_window(struct warmer *warmer)
{
	const struct legs_file *files = warmer->window.items;
	size_t at = 0, count = warmer->window.count;

	while (!warmer_has_ended(warmer) && (at < count || warmer->legs.queue.reading))
		at += warmer_step(warmer, files + at, count - at);
}

static void warmer_read_all(struct warmer *warmer)
{
	const struct legs_file *files;

	warmer_read_window(warmer);
	while (warmer->window.is_cut && !warmer_has_ended(warmer)) {
		files = warmer->window.items;
		warmer->last = files[warmer->window.count - 1];
		warmer_fill(warmer, false);
		warmer_read_window(warmer);
	}
}

/* Waits until the legs under way have ended and were written, as far as there is room for them. A drive that hangs does
 * not hold up a job that has ended. */
static void warmer_settle(struct warmer *warmer)
{
	int64_t until = clock_now() + WARMER_END;
	uint64_t staged;

	if (warmer_has_ended(warmer))
		legs_cancel(&warmer->legs);
	while (warmer->legs.queue.reading)
		warmer_wait(warmer, WARMER_LOOK);
	staged = store_staged(warmer_store(warmer));
	while (!store_is_written(warmer_store(warmer), staged) && (warmer_goes_on(warmer) || clock_now() < until))
		warmer_wait(warmer, WARMER_NAP);
	warmer_check_store(warmer);
}

/* ---- a job ---- */

/* Reports the result of the last look. */
static void warmer_count(struct warmer *warmer)
{
	static const size_t places[CACHED_FILE_PLACES] = {
		[CACHED_FILE_WHOLE] = offsetof(struct dsfs_warm, cached),
		[CACHED_FILE_MISSING] = offsetof(struct dsfs_warm, missing),
		[CACHED_FILE_INDEX] = offsetof(struct dsfs_warm, index),
		[CACHED_FILE_LARGE] = offsetof(struct dsfs_warm, large),
	};
	struct dsfs_warm_count count;

	for (unsigned i = 0; i < CACHED_FILE_PLACES; i++) {
		count = (struct dsfs_warm_count){ warmer->counts.files[i], warmer->counts.bytes[i] };
		memcpy((char *)&warmer->answer + places[i], &count, sizeof(count));
	}
}

/* Looks, and reads missing files. *before: the chunks that were missing before the last pass. They count, not files:
 * where one cannot be read, those that begin with the same chunk come in the next pass. Returns whether another pass
 * may help. */
static bool warmer_pass(struct warmer *warmer, uint64_t *before)
{
	const struct cached_files *counts = &warmer->counts;

	warmer_look(warmer);
	warmer_count(warmer);
	if (*before == UINT64_MAX)
		warmer->answer.to_read = warmer->answer.missing;
	if (warmer_has_ended(warmer) || counts->files[CACHED_FILE_MISSING] <= warmer->legs.failed ||
	    (counts->chunks >= *before && !warmer->legs.was_left))
		return false;
	*before = counts->chunks;
	warmer->answer.state = DSFS_WARM_READS;
	legs_begin_pass(&warmer->legs);
	warmer_read_all(warmer);
	warmer_settle(warmer);
	if (warmer_has_ended(warmer))
		warmer_look(warmer);
	else
		warmer->answer.state = DSFS_WARM_LOOKS;
	return !warmer_has_ended(warmer);
}

/* Files that are still missing, although everything was read, found no room: in the data, or in the table. */
static void warmer_conclude(struct warmer *warmer)
{
	warmer_count(warmer);
	if (!warmer->counts.files[CACHED_FILE_MISSING] && warmer->answer.state == DSFS_WARM_FULL)
		warmer->answer.state = DSFS_WARM_DONE;
	if (!warmer->counts.files[CACHED_FILE_MISSING])
		warmer_end(warmer, DSFS_WARM_DONE, "");
	if (warmer->legs.failed)
		warmer_end_unread(warmer);
	warmer_end(warmer, DSFS_WARM_FULL, "");
}

static void warmer_passes(struct warmer *warmer)
{
	uint64_t before = UINT64_MAX;
	bool goes_on = true;

	for (unsigned i = 0; goes_on && i < WARMER_PASSES; i++)
		goes_on = warmer_pass(warmer, &before);
	if (goes_on)
		warmer_look(warmer);
	warmer_conclude(warmer);
}

/* Waits until the table of the cache is loaded. A server that was before this one may have its lock for a moment. */
static void warmer_await_store(struct warmer *warmer)
{
	int64_t until = clock_now() + WARMER_LOCK;
	enum store_admission admission;

	do {
		admission = store_admission(warmer_store(warmer));
		if (admission != STORE_LOADS && (admission != STORE_FOLLOWS || clock_now() > until))
			return;
		wake_wait(&warmer->wake, (int)(WARMER_LOOK / 1000000));
	} while (warmer_goes_on(warmer));
}

static int warmer_prepare(struct warmer *warmer, struct error *err)
{
	const struct generation *generation = warmer->job->generation;
	int r;

	warmer_await_store(warmer);
	r = file_set_expand(&warmer->job->wanted, generation->opened.index, err);
	if (r == 0)
		r = lowest_reserve(&warmer->window, lowest_share(generation->opened.index->shape.inode_count), err);
	return r < 0 ? r : legs_open(&warmer->legs, &warmer->counters, err);
}

static void warmer_do(struct warmer *warmer, struct warm_job *job)
{
	struct error err = { 0 };

	warmer->job = job;
	warmer->answer = job->answer; /* no other thread changes it now */
	warmer->answer.cache_size = store_size(warmer_store(warmer));
	legs_begin(&warmer->legs, job->generation);
	if (warmer_prepare(warmer, &err) == 0)
		warmer_passes(warmer);
	else
		warmer_end(warmer, DSFS_WARM_FAILED, err.reason);
	warmer->answer.read = (struct dsfs_warm_count){ warmer->legs.files, warmer->legs.bytes };
	lowest_free(&warmer->window);
	warmer->window = (struct lowest){ .kind = &warmer_kind };
	legs_close(&warmer->legs);
	warm_jobs_tell(&warmer->jobs, job, &warmer->answer);
}

/* ---- the thread ---- */

static void warmer_main(void *argument)
{
	struct warmer *warmer = argument;
	struct warm_job *job;
	bool has_jobs = false;

	while (atomic_load(&warmer->legs.goes_on)) {
		job = warm_jobs_take(&warmer->jobs);
		if (job)
			warmer_do(warmer, job);
		else
			wake_wait(&warmer->wake, has_jobs ? WARMER_IDLE : -1);
		has_jobs = warm_jobs_sweep(&warmer->jobs);
	}
	while (warmer->legs.queue.left) /* the device writes to our memory */
		legs_wait(&warmer->legs, WARMER_LOOK);
	legs_close(&warmer->legs);
}

static struct warmer *warmer_new(struct serve *serve)
{
	struct warmer *warmer = aligned_alloc(_Alignof(struct warmer), sizeof(*warmer));

	if (!warmer)
		return NULL;
	memset(warmer, 0, sizeof(*warmer));
	warmer->serve = warmer->legs.serve = serve;
	warmer->legs.wake = &warmer->wake;
	warmer->window.kind = &warmer_kind;
	warmer->wake.fd = -1;
	atomic_store(&warmer->legs.goes_on, true);
	warm_jobs_open(&warmer->jobs);
	return warmer;
}

int warmer_start(struct serve *serve, struct error *err)
{
	struct warmer *warmer = serve->cached ? warmer_new(serve) : NULL;
	const struct thread_setup setup = { .run = warmer_main, .argument = warmer,
					    .what = "the thread that warms the cache" };
	int r;

	if (!serve->cached)
		return 0;
	if (!warmer)
		return error_no_memory(err);
	r = wake_open(&warmer->wake, err);
	if (r == 0)
		r = thread_start(&warmer->thread, 1, &setup, err);
	if (r == 0)
		serve->warmer = warmer;
	else
		warmer_free(warmer);
	return r;
}

bool warmer_stop(struct warmer *warmer)
{
	if (!warmer || !atomic_exchange(&warmer->legs.goes_on, false))
		return !warmer || !warmer->is_stuck;
	wake_up(&warmer->wake);
	warmer->is_stuck = !thread_join_soon(&warmer->thread);
	if (warmer->is_stuck)
		log_warn("the device holds a read for the cache back, the daemon ends without it");
	return !warmer->is_stuck;
}

void warmer_free(struct warmer *warmer)
{
	if (!warmer || warmer->is_stuck)
		return;
	warm_jobs_close(&warmer->jobs);
	wake_close(&warmer->wake);
	free(warmer);
}

/* ---- other threads ---- */

int warmer_command(struct warmer *warmer, struct dsfs_warm *command, struct error *err)
{
	int r = warm_jobs_command(&warmer->jobs, serve_current(warmer->serve), command, err);

	wake_up(&warmer->wake);
	return r;
}

void warmer_renew(struct warmer *warmer)
{
	if (!warmer)
		return;
	atomic_store(&warmer->renew, true);
	wake_up(&warmer->wake);
}

const struct counters *warmer_counters(const struct warmer *warmer)
{
	return &warmer->counters;
}
