/* SPDX-License-Identifier: MIT */
/* What a left version still has in the kernel's memory is out of sight. Nodes that nobody uses are dropped by their numbers
 * where the kernel can do that: children before parents, as ordinals are breadth-first. It takes no directory's lock and
 * touches no node of another version. Else names are dropped one by one. */
#include "serve/control/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "fuse/invalidate.h"
#include "image/names.h"
#include "serve/serve.h"

struct sweep {
	struct serve *serve;
	int fd;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* generation, ending */
	pthread_cond_t wake;
	struct generation *generation; /* under way, with a use; NULL: none */
	bool ending;
	_Atomic bool cancelled;
	/* the thread's: */
	bool cannot_prune; /* the kernel does not know how */
	bool pruned;       /* this version, just now */
};

/* ---- one version ---- */

static bool sweep_is_over(const struct sweep *sweep)
{
	const struct generation *generation = sweep->generation;

	return atomic_load(&sweep->cancelled) || !atomic_load(&generation->lookups) ||
	       generation == serve_current(sweep->serve);
}

/* A file has one node, whose pages a visitor of .datasetfs/versions would lose as well. */
static bool sweep_may_prune(const struct sweep *sweep)
{
	return !sweep->cannot_prune && !atomic_load(&sweep->generation->visited);
}

static void sweep_prune(struct sweep *sweep)
{
	const struct generation *generation = sweep->generation;
	uint64_t ordinal = generation->index->shape.inode_count, nodes[INVALIDATE_PRUNE_MOST];
	struct error err = { 0 };
	uint32_t count;
	int r = 0;

	while (r == 0 && ordinal > INODE_ROOT && !sweep_is_over(sweep)) {
		for (count = 0; count < INVALIDATE_PRUNE_MOST && ordinal > INODE_ROOT; ordinal--)
			nodes[count++] = generation_node(generation, ordinal);
		r = invalidate_prune(sweep->fd, nodes, count, &err);
	}
	sweep->pruned = r == 0;
	if (r != -EINVAL)
		return;
	sweep->cannot_prune = true;
	log_debug("the kernel drops no nodes by number, names of left versions are dropped one by one");
}

/* A name of the root is another version's by now, so those are dropped once: after the version was left. */
static int sweep_name(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct sweep *sweep = argument;
	struct generation *generation = sweep->generation;
	struct error err = { 0 };

	if (sweep_is_over(sweep))
		return 1;
	if (sweep->pruned && entry->type != DT_DIR)
		return 0;
	if (directory != INODE_ROOT)
		atomic_store(&generation->root_swept, true);
	else if (atomic_load(&generation->root_swept))
		return 0;
	return invalidate_entry(sweep->fd, generation_node(generation, directory), entry->name, entry->name_length, &err) < 0;
}

static void sweep_names(struct sweep *sweep)
{
	struct generation *generation = sweep->generation;
	struct names_reader *reader;
	struct error err = { 0 };

	if (names_reader_open(generation->index->names, &reader, &err) < 0)
		return;
	/* Cancelled at its last name it may have been current since. */
	if (names_walk(reader, sweep_name, sweep) == 0 && !atomic_load(&sweep->cancelled))
		atomic_store(&generation->root_swept, true);
	names_reader_close(reader);
}

/* A directory in which names were found to be absent is in use by these absences, which have no number. */
static void sweep_one(struct sweep *sweep)
{
	sweep->pruned = false;
	if (sweep_may_prune(sweep))
		sweep_prune(sweep);
	if (!sweep->pruned || atomic_load(&sweep->generation->has_absences))
		sweep_names(sweep);
}

/* ---- the thread ---- */

static bool sweep_wait(struct sweep *sweep)
{
	bool ending;

	pthread_mutex_lock(&sweep->lock);
	while (!sweep->generation && !sweep->ending)
		pthread_cond_wait(&sweep->wake, &sweep->lock);
	ending = sweep->ending;
	pthread_mutex_unlock(&sweep->lock);
	return !ending;
}

static void sweep_end(struct sweep *sweep)
{
	struct generation *generation;

	pthread_mutex_lock(&sweep->lock);
	generation = sweep->generation;
	sweep->generation = NULL;
	pthread_mutex_unlock(&sweep->lock);
	generation_put(generation);
}

static void *sweep_main(void *argument)
{
	struct sweep *sweep = argument;

	while (sweep_wait(sweep)) {
		sweep_one(sweep);
		sweep_end(sweep);
		wake_up(&sweep->serve->wake);
	}
	sweep_end(sweep);
	return NULL;
}

int sweep_start(struct serve *serve, int fd, struct error *err)
{
	struct sweep *sweep = calloc(1, sizeof(*sweep));
	int r;

	if (!sweep)
		return error_set(err, -ENOMEM, "no memory for the thread that sweeps");
	sweep->serve = serve;
	sweep->fd = fd;
	pthread_mutex_init(&sweep->lock, NULL);
	pthread_cond_init(&sweep->wake, NULL);
	serve->sweep = sweep;
	r = pthread_create(&sweep->thread, NULL, sweep_main, sweep);
	if (r)
		return error_set(err, -r, "cannot start the thread that sweeps: %s", strerror(r));
	sweep->running = true;
	return 0;
}

void sweep_stop(struct sweep *sweep)
{
	if (!sweep || !sweep->running)
		return;
	pthread_mutex_lock(&sweep->lock);
	sweep->ending = true;
	atomic_store(&sweep->cancelled, true);
	pthread_cond_signal(&sweep->wake);
	pthread_mutex_unlock(&sweep->lock);
	pthread_join(sweep->thread, NULL);
	sweep->running = false;
}

void sweep_free(struct sweep *sweep)
{
	if (!sweep)
		return;
	pthread_cond_destroy(&sweep->wake);
	pthread_mutex_destroy(&sweep->lock);
	free(sweep);
}

/* ---- the control thread's side ---- */

bool sweep_begin(struct sweep *sweep, struct generation *generation)
{
	bool begun;

	pthread_mutex_lock(&sweep->lock);
	begun = !sweep->generation && !sweep->ending;
	if (begun) {
		generation_get(generation);
		sweep->generation = generation;
		atomic_store(&sweep->cancelled, false);
		pthread_cond_signal(&sweep->wake);
	}
	pthread_mutex_unlock(&sweep->lock);
	return begun;
}

bool sweep_is_busy(struct sweep *sweep)
{
	bool busy;

	pthread_mutex_lock(&sweep->lock);
	busy = sweep->generation;
	pthread_mutex_unlock(&sweep->lock);
	return busy;
}

void sweep_cancel(struct sweep *sweep)
{
	atomic_store(&sweep->cancelled, true);
}
