/* SPDX-License-Identifier: MIT */
/* Keeps a ring of directories, which a few threads read in parallel, because metadata may be slow. */
#include "source/prefetch.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread/thread.h"
#include "base/thread/work_queue.h"

#define PREFETCH_THREADS 4u

struct prefetch_slot {
	char *path; /* NULL once it was read */
	int result;
	struct error error;
	struct listing listing;
};

struct prefetch {
	const struct listing_context *context;
	struct work_queue queue;
	struct prefetch_slot slots[PREFETCH_DEPTH];
	struct thread threads[PREFETCH_THREADS];
};

static struct prefetch_slot *prefetch_slot(struct prefetch *prefetch, uint64_t number)
{
	return &prefetch->slots[number % PREFETCH_DEPTH];
}

static void prefetch_run(void *argument)
{
	struct prefetch *prefetch = argument;
	struct prefetch_slot *slot;
	uint64_t number;

	while (work_queue_start(&prefetch->queue, &number)) {
		slot = prefetch_slot(prefetch, number);
		slot->error = (struct error){ 0 };
		slot->result = listing_read(prefetch->context, slot->path, &slot->listing, &slot->error);
		free(slot->path);
		slot->path = NULL;
		work_queue_done(&prefetch->queue, number);
	}
}

int prefetch_open(const struct listing_context *context, struct prefetch **ret, struct error *err)
{
	struct prefetch *prefetch = calloc(1, sizeof(*prefetch));
	const struct thread_setup setup = { .run = prefetch_run, .argument = prefetch };
	int r;

	if (!prefetch)
		return error_no_memory(err);
	prefetch->context = context;
	work_queue_open(&prefetch->queue, PREFETCH_DEPTH, PREFETCH_DEPTH);
	r = thread_start(prefetch->threads, PREFETCH_THREADS, &setup, err);
	if (r < 0) {
		prefetch_close(prefetch);
		return r;
	}
	*ret = prefetch;
	return 0;
}

void prefetch_close(struct prefetch *prefetch)
{
	if (!prefetch)
		return;
	work_queue_stop(&prefetch->queue);
	thread_join_all(prefetch->threads, PREFETCH_THREADS);
	for (unsigned i = 0; i < PREFETCH_DEPTH; i++) {
		free(prefetch->slots[i].path);
		listing_close(&prefetch->slots[i].listing);
	}
	work_queue_close(&prefetch->queue);
	free(prefetch);
}

bool prefetch_has_room(struct prefetch *prefetch)
{
	return work_queue_count(&prefetch->queue) < PREFETCH_DEPTH;
}

bool prefetch_is_empty(struct prefetch *prefetch)
{
	return !work_queue_count(&prefetch->queue);
}

int prefetch_ask(struct prefetch *prefetch, const char *path, struct error *err)
{
	char *copy = strdup(path);
	uint64_t number = 0;

	if (!copy)
		return error_no_memory(err);
	(void)work_queue_begin(&prefetch->queue, &number); /* true until prefetch_close() */
	prefetch_slot(prefetch, number)->path = copy;
	work_queue_submit(&prefetch->queue);
	return 0;
}

int prefetch_take(struct prefetch *prefetch, struct listing *ret, struct error *err)
{
	struct prefetch_slot *slot;
	uint64_t number = 0;
	int r;

	(void)work_queue_take(&prefetch->queue, &number); /* true, as the queue does not end */
	slot = prefetch_slot(prefetch, number);
	r = slot->result;
	if (r < 0 && err)
		*err = slot->error;
	if (r == 0) {
		*ret = slot->listing;
		slot->listing = (struct listing){ 0 };
	}
	work_queue_give_back(&prefetch->queue);
	return r;
}
