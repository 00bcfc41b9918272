/* SPDX-License-Identifier: MIT */
/* Drops the nodes and names of an old version in the kernel, to which no path leads any more. If the kernel can drop
 * unused nodes by number, they are dropped in descending order, which is children before parents, as ordinals are
 * breadth-first; this takes no directory's lock and touches no other version. Otherwise names are dropped singly. */
#include "serve/control/prune.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread/thread.h"
#include "fuse/invalidate.h"
#include "image/names/names.h"
#include "serve/control/search.h"

#define PRUNE_FIRST INT64_C(1000000000)   /* ns between the first two runs for a version; the time doubles after each */
#define PRUNE_LEAST INT64_C(10000000000)  /* least limit of that time, ns */
#define PRUNE_REST  128                   /* the limit is this many times the length of the last run */
#define PRUNE_MOST  INT64_C(600000000000) /* greatest limit, ns */

struct prune {
	struct serve *serve;
	struct thread thread;
	pthread_mutex_t lock; /* protects generation and ending */
	pthread_cond_t wake;
	struct generation *generation; /* the version being pruned, with a use; NULL: none */
	bool ending;
	_Atomic bool cancelled;
	/* thread only: */
	bool cannot_drop_nodes; /* the kernel cannot drop nodes by number */
	bool dropped_nodes;     /* this run dropped nodes by number */
};

/* ---- one version ---- */

static bool prune_is_over(const struct prune *prune)
{
	const struct generation *generation = prune->generation;

	return atomic_load(&prune->cancelled) || generation_is_forgotten(generation) ||
	       generation == serve_current(prune->serve);
}

/* Whether nodes may be dropped by number. A file has only one node, so a visitor of .datasetfs/versions would lose its
 * cached pages as well. */
static bool prune_may_drop_nodes(const struct prune *prune)
{
	return !prune->cannot_drop_nodes && !atomic_load(&prune->generation->visited);
}

static void prune_drop_nodes(struct prune *prune)
{
	const struct generation *generation = prune->generation;
	uint64_t ordinal = generation->opened.index->shape.inode_count, nodes[INVALIDATE_PRUNE_MOST];
	struct error err = { 0 };
	uint32_t count;
	int r = 0;

	while (r == 0 && ordinal > INODE_ROOT && !prune_is_over(prune)) {
		for (count = 0; count < INVALIDATE_PRUNE_MOST && ordinal > INODE_ROOT; ordinal--)
			nodes[count++] = generation_node(generation, ordinal);
		r = invalidate_prune(prune->serve->mount_fd, nodes, count, &err);
	}
	prune->dropped_nodes = r == 0;
	if (r != -EINVAL)
		return;
	prune->cannot_drop_nodes = true;
	log_debug("this kernel cannot drop nodes by number, dropping names of old versions one by one");
}

/* Names of the root are dropped only once after the version was left, because later they belong to another version. */
static int prune_drop_name(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct prune *prune = argument;
	struct generation *generation = prune->generation;
	struct error err = { 0 };

	if (prune_is_over(prune))
		return 1;
	if (prune->dropped_nodes && entry->type != DT_DIR)
		return 0;
	if (directory != INODE_ROOT)
		atomic_store(&generation->root_pruned, true);
	else if (atomic_load(&generation->root_pruned))
		return 0;
	return invalidate_entry(prune->serve->mount_fd, generation_node(generation, directory), entry->name,
				entry->name_length, &err) < 0;
}

static void prune_drop_names(struct prune *prune)
{
	struct generation *generation = prune->generation;

	/* If it was cancelled, the version may have been current since. */
	if (names_walk(generation->opened.index->names, prune_drop_name, prune) == 0 && !atomic_load(&prune->cancelled))
		atomic_store(&generation->root_pruned, true);
}

/* Names are dropped even after nodes if the kernel remembers absent names: they keep their directory in use and have no
 * node number. */
static void prune_one(struct prune *prune)
{
	prune->dropped_nodes = false;
	if (prune_may_drop_nodes(prune))
		prune_drop_nodes(prune);
	if (!prune->dropped_nodes || atomic_load(&prune->generation->has_absences))
		prune_drop_names(prune);
	if (generation_is_unknown(prune->generation) && !prune_is_over(prune))
		search_version(prune->serve, prune->generation, &prune->cancelled);
}

/* ---- the thread ---- */

static bool prune_wait(struct prune *prune)
{
	bool ending;

	pthread_mutex_lock(&prune->lock);
	while (!prune->generation && !prune->ending)
		pthread_cond_wait(&prune->wake, &prune->lock);
	ending = prune->ending;
	pthread_mutex_unlock(&prune->lock);
	return !ending;
}

static void prune_end(struct prune *prune)
{
	struct generation *generation;

	pthread_mutex_lock(&prune->lock);
	generation = prune->generation;
	prune->generation = NULL;
	pthread_mutex_unlock(&prune->lock);
	generation_put(generation);
}

static void prune_main(void *argument)
{
	struct prune *prune = argument;

	while (prune_wait(prune)) {
		prune_one(prune);
		prune_end(prune);
		wake_up(&prune->serve->wake);
	}
	prune_end(prune);
}

int prune_start(struct serve *serve, struct error *err)
{
	struct prune *prune = calloc(1, sizeof(*prune));
	const struct thread_setup setup = { .run = prune_main, .argument = prune, .what = "the thread that prunes" };

	if (!prune)
		return error_no_memory(err);
	prune->serve = serve;
	pthread_mutex_init(&prune->lock, NULL);
	pthread_cond_init(&prune->wake, NULL);
	serve->prune = prune;
	return thread_start(&prune->thread, 1, &setup, err);
}

void prune_stop(struct prune *prune)
{
	if (!prune)
		return;
	pthread_mutex_lock(&prune->lock);
	prune->ending = true;
	atomic_store(&prune->cancelled, true);
	pthread_cond_signal(&prune->wake);
	pthread_mutex_unlock(&prune->lock);
	thread_join(&prune->thread);
}

void prune_free(struct prune *prune)
{
	if (!prune)
		return;
	pthread_cond_destroy(&prune->wake);
	pthread_mutex_destroy(&prune->lock);
	free(prune);
}

/* ---- the control thread's side ---- */

static bool prune_begin(struct prune *prune, struct generation *generation)
{
	bool begun;

	pthread_mutex_lock(&prune->lock);
	begun = !prune->generation && !prune->ending;
	if (begun) {
		generation_get(generation);
		prune->generation = generation;
		atomic_store(&prune->cancelled, false);
		pthread_cond_signal(&prune->wake);
	}
	pthread_mutex_unlock(&prune->lock);
	return begun;
}

static bool prune_is_busy(struct prune *prune)
{
	bool busy;

	pthread_mutex_lock(&prune->lock);
	busy = prune->generation;
	pthread_mutex_unlock(&prune->lock);
	return busy;
}

void prune_cancel(struct prune *prune)
{
	atomic_store(&prune->cancelled, true);
}

/* Pruning that was cancelled for this switch begins again a second later. */
void prune_left(struct serve *serve, struct generation *left)
{
	int64_t now = clock_now();

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		struct generation *generation = atomic_load(&serve->generations.slots[i]);

		if (!generation || (generation != left && !generation->pruning.at))
			continue;
		generation->pruning = (struct generation_pruning){
			.at = now + (generation == left ? 0 : PRUNE_FIRST), .delay = PRUNE_FIRST,
		};
	}
	/* If announce_switch() invalidated names one by one, the root's are gone already. */
	atomic_store(&left->root_pruned, serve->options.notify == MOUNT_NOTIFY_ENTRIES);
}

void prune_adopted(struct serve *serve)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (generation && generation != serve_current(serve) && !generation->pruning.at &&
		    generation_is_unknown(generation))
			generation->pruning = (struct generation_pruning){ .at = clock_now(), .delay = PRUNE_FIRST };
	}
}

/* Schedules the next run for a version when one has ended; the longer it took, the later. */
static void prune_ended(struct generation_pruning *pruning)
{
	int64_t now = clock_now(), most = (now - pruning->began) * PRUNE_REST;

	most = most < PRUNE_LEAST ? PRUNE_LEAST : most > PRUNE_MOST ? PRUNE_MOST : most;
	pruning->began = 0;
	pruning->at = now + pruning->delay;
	pruning->delay = pruning->delay < most / 2 ? pruning->delay * 2 : most;
}

int64_t prune_settle(struct serve *serve)
{
	bool busy = prune_is_busy(serve->prune);
	struct generation *generation;
	int64_t next = 0;

	prune_adopted(serve);
	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&serve->generations.slots[i]);
		if (!generation || generation == serve_current(serve) || !generation->pruning.at ||
		    generation_is_forgotten(generation))
			continue;
		if (generation->pruning.began && !busy)
			prune_ended(&generation->pruning);
		if (clock_now() < generation->pruning.at)
			next = !next || generation->pruning.at < next ? generation->pruning.at : next;
		else if (!busy && (busy = prune_begin(serve->prune, generation)))
			generation->pruning.began = clock_now();
	}
	return next;
}
