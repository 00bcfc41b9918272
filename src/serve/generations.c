/* SPDX-License-Identifier: MIT */
/* A small open-addressed table of atomic pointers; sections are counters that workers own. */
#include "serve/generations.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "serve/control.h"
#include "serve/serve.h"
#include "serve/worker.h"

struct generation *generations_find(struct generations *generations, uint64_t sequence)
{
	struct generation *generation;

	for (uint64_t i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[(sequence + i) % GENERATIONS_MAX]);
		if (generation && generation->sequence == sequence)
			return generation;
	}
	return NULL;
}

struct generation *generations_by_label(struct generations *generations, const char *label)
{
	struct generation *generation, *found = NULL;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (generation && !strcmp(generation->version.label, label) &&
		    (!found || generation->sequence > found->sequence))
			found = generation;
	}
	return found;
}

/* What is current, or known to the kernel, is not closed before this section ends. */
bool generations_hold(struct serve *serve, struct generation *generation)
{
	uint64_t lookups = atomic_load(&generation->lookups);

	if (generation == serve_current(serve)) {
		atomic_fetch_add(&generation->lookups, 1);
		return true;
	}
	while (lookups)
		if (atomic_compare_exchange_weak(&generation->lookups, &lookups, lookups + 1))
			return true;
	return false;
}

void generations_forget(struct serve *serve, struct generation *generation, uint64_t lookups)
{
	if (lookups && atomic_fetch_sub(&generation->lookups, lookups) == lookups &&
	    generation != serve_current(serve))
		control_poke(serve->control);
}

int generations_add(struct generations *generations, struct generation *generation, struct error *err)
{
	for (uint64_t i = 0; i < GENERATIONS_MAX; i++) {
		_Atomic(struct generation *) *slot =
			&generations->slots[(generation->sequence + i) % GENERATIONS_MAX];

		if (atomic_load(slot))
			continue;
		atomic_store(slot, generation);
		return 0;
	}
	return error_set(err, -ENFILE, "%u versions are open", GENERATIONS_MAX);
}

/* Sections are short but with io=threads, where a worker reads the device inside: then this waits for the device. A worker
 * that waits for requests is outside. */
void generations_wait(const struct serve *serve)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	for (unsigned i = 0; serve->workers && i < serve->worker_count; i++) {
		const generations_section *section = &serve->workers[i]->section;
		uint64_t before = atomic_load(section);

		while (before % 2 && atomic_load(section) == before)
			nanosleep(&pause, NULL);
	}
}

void generations_remove(struct serve *serve, struct generation *generation)
{
	struct generations *generations = &serve->generations;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++)
		if (atomic_load(&generations->slots[i]) == generation)
			atomic_store(&generations->slots[i], NULL);
	generations_wait(serve);
	generation_put(generation);
}
