/* SPDX-License-Identifier: MIT */
/* Keeps a ring of directories, which a few threads read in parallel, because metadata may be slow. */
#include "source/prefetch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PREFETCH_THREADS 4u

struct prefetch_slot {
	char *path; /* NULL once it was read */
	bool ready;
	int result;
	struct error error;
	struct listing listing;
};

struct prefetch {
	const struct listing_context *context;
	pthread_mutex_t mutex;
	pthread_cond_t asked_for, was_read;
	struct prefetch_slot slots[PREFETCH_DEPTH];
	uint64_t asked, started, taken; /* directories so far; slot = number % PREFETCH_DEPTH */
	bool stop;
	pthread_t threads[PREFETCH_THREADS];
	unsigned thread_count;
};

static struct prefetch_slot *prefetch_slot(struct prefetch *prefetch, uint64_t number)
{
	return &prefetch->slots[number % PREFETCH_DEPTH];
}

/* Waits for the next directory to read; NULL at the end. */
static struct prefetch_slot *prefetch_start(struct prefetch *prefetch)
{
	struct prefetch_slot *slot = NULL;

	pthread_mutex_lock(&prefetch->mutex);
	while (!prefetch->stop && prefetch->started == prefetch->asked)
		pthread_cond_wait(&prefetch->asked_for, &prefetch->mutex);
	if (!prefetch->stop)
		slot = prefetch_slot(prefetch, prefetch->started++);
	pthread_mutex_unlock(&prefetch->mutex);
	return slot;
}

static void *prefetch_run(void *argument)
{
	struct prefetch *prefetch = argument;
	struct prefetch_slot *slot;

	while ((slot = prefetch_start(prefetch))) {
		slot->error = (struct error){ 0 };
		slot->result = listing_read(prefetch->context, slot->path, &slot->listing, &slot->error);
		free(slot->path);
		slot->path = NULL;
		pthread_mutex_lock(&prefetch->mutex);
		slot->ready = true;
		pthread_cond_broadcast(&prefetch->was_read);
		pthread_mutex_unlock(&prefetch->mutex);
	}
	return NULL;
}

int prefetch_open(const struct listing_context *context, struct prefetch **ret, struct error *err)
{
	struct prefetch *prefetch = calloc(1, sizeof(*prefetch));
	int r;

	if (!prefetch)
		return error_no_memory(err);
	prefetch->context = context;
	pthread_mutex_init(&prefetch->mutex, NULL);
	pthread_cond_init(&prefetch->asked_for, NULL);
	pthread_cond_init(&prefetch->was_read, NULL);
	for (; prefetch->thread_count < PREFETCH_THREADS; prefetch->thread_count++) {
		r = pthread_create(&prefetch->threads[prefetch->thread_count], NULL, prefetch_run, prefetch);
		if (r) {
			prefetch_close(prefetch);
			return error_set(err, -r, "cannot start a thread: %s", strerror(r));
		}
	}
	*ret = prefetch;
	return 0;
}

void prefetch_close(struct prefetch *prefetch)
{
	if (!prefetch)
		return;
	pthread_mutex_lock(&prefetch->mutex);
	prefetch->stop = true;
	pthread_cond_broadcast(&prefetch->asked_for);
	pthread_mutex_unlock(&prefetch->mutex);
	for (unsigned i = 0; i < prefetch->thread_count; i++)
		pthread_join(prefetch->threads[i], NULL);
	for (unsigned i = 0; i < PREFETCH_DEPTH; i++) {
		free(prefetch->slots[i].path);
		listing_close(&prefetch->slots[i].listing);
	}
	pthread_cond_destroy(&prefetch->was_read);
	pthread_cond_destroy(&prefetch->asked_for);
	pthread_mutex_destroy(&prefetch->mutex);
	free(prefetch);
}

/* Only the caller's thread changes the two counters. */
bool prefetch_has_room(const struct prefetch *prefetch)
{
	return prefetch->asked - prefetch->taken < PREFETCH_DEPTH;
}

bool prefetch_is_empty(const struct prefetch *prefetch)
{
	return prefetch->asked == prefetch->taken;
}

int prefetch_ask(struct prefetch *prefetch, const char *path, struct error *err)
{
	char *copy = strdup(path);

	if (!copy)
		return error_no_memory(err);
	pthread_mutex_lock(&prefetch->mutex);
	prefetch_slot(prefetch, prefetch->asked)->path = copy;
	prefetch_slot(prefetch, prefetch->asked)->ready = false;
	prefetch->asked++;
	pthread_cond_signal(&prefetch->asked_for);
	pthread_mutex_unlock(&prefetch->mutex);
	return 0;
}

int prefetch_take(struct prefetch *prefetch, struct listing *ret, struct error *err)
{
	struct prefetch_slot *slot = prefetch_slot(prefetch, prefetch->taken);
	int r;

	pthread_mutex_lock(&prefetch->mutex);
	while (!slot->ready)
		pthread_cond_wait(&prefetch->was_read, &prefetch->mutex);
	r = slot->result;
	if (r < 0 && err)
		*err = slot->error;
	if (r == 0) {
		*ret = slot->listing;
		slot->listing = (struct listing){ 0 };
	}
	prefetch->taken++;
	pthread_mutex_unlock(&prefetch->mutex);
	return r;
}
