/* SPDX-License-Identifier: MIT */
/* Keeps open versions in a small open-addressed table of atomic pointers; sections are counters that workers own. */
#include "serve/version/generations.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/log.h"

void generations_register(struct generations *generations, struct generations_section *section)
{
	section->next = generations->sections;
	generations->sections = section;
}

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

/* A check for the current version would not do: a switch may leave it, and the reaping thread remove it, before the
 * lookup is counted. */
bool generations_hold(struct generation *generation)
{
	uint64_t lookups = atomic_load(&generation->lookups);

	while (!(lookups & GENERATION_GONE))
		if (atomic_compare_exchange_weak(&generation->lookups, &lookups, lookups + 1))
			return true;
	return false;
}

void generations_forget(struct generations *generations, struct generation *generation, uint64_t lookups)
{
	if (lookups && atomic_fetch_sub(&generation->lookups, lookups) == lookups &&
	    generation != generations_current(generations))
		wake_up(generations->wake);
}

void generations_mark_stale(struct generations *generations, struct generation *generation)
{
	if (!atomic_exchange(&generation->maybe_stale, true))
		wake_up(generations->wake);
}

static enum generation_fate generations_fate(const struct generation *generation, const struct catalogue *catalogue)
{
	if (!catalogue)
		return GENERATION_REFORMATTED;
	if (catalogue_holds(catalogue, generation->sequence, generation->version.uuid))
		return GENERATION_THERE;
	return catalogue_by_uuid(catalogue, generation->version.uuid) ? GENERATION_MOVED : GENERATION_REMOVED;
}

void generations_compare(struct generations *generations, const struct catalogue *catalogue)
{
	enum generation_fate fate;
	struct generation *generation;
	bool has_changed = false;

	pthread_mutex_lock(&generations->lock);
	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (!generation)
			continue;
		fate = generations_fate(generation, catalogue);
		has_changed |= atomic_exchange(&generation->fate, fate) != fate;
	}
	pthread_mutex_unlock(&generations->lock);
	if (has_changed && generations->wake)
		wake_up(generations->wake);
}

struct generation *generations_get(struct generations *generations, uint64_t sequence, bool hold)
{
	struct generation *generation;

	pthread_mutex_lock(&generations->lock);
	generation = generations_find(generations, sequence);
	if (generation && hold)
		atomic_fetch_add(&generation->lookups, 1);
	pthread_mutex_unlock(&generations->lock);
	return generation;
}

/* The caller holds the lock. False: the table is full. */
static bool generations_put_in(struct generations *generations, struct generation *generation)
{
	_Atomic(struct generation *) *slot;

	for (uint64_t i = 0; i < GENERATIONS_MAX; i++) {
		slot = &generations->slots[(generation->sequence + i) % GENERATIONS_MAX];
		if (atomic_load(slot))
			continue;
		atomic_store(slot, generation);
		return true;
	}
	return false;
}

int generations_add(struct generations *generations, struct generation **generation, bool hold, struct error *err)
{
	struct generation *mine = *generation, *found;
	bool there, is_other;

	pthread_mutex_lock(&generations->lock);
	found = generations_find(generations, mine->sequence);
	is_other = found && !generation_is(found, &mine->version);
	if (!found && hold)
		atomic_fetch_add(&mine->lookups, 1);
	there = found || generations_put_in(generations, mine);
	if (found && hold && !is_other)
		atomic_fetch_add(&found->lookups, 1);
	pthread_mutex_unlock(&generations->lock);
	if (is_other)
		return error_set(err, -ESTALE, "another version with the sequence of '%s' is open",
				 mine->version.label);
	if (!there)
		return error_set(err, -ENFILE, "%u versions are open, which is the limit", GENERATIONS_MAX);
	if (found)
		generation_put(mine);
	*generation = found ? found : mine;
	return 0;
}

/* Sections are short, except with io=threads: there a worker reads the device inside its section, and this function
 * waits for the device. A worker that waits for requests is outside. */
void generations_wait(const struct generations *generations)
{
	const struct timespec pause = { .tv_nsec = 20000 };

	for (const struct generations_section *section = generations->sections; section; section = section->next) {
		uint64_t before = atomic_load(&section->count);

		while (before % 2 && atomic_load(&section->count) == before)
			nanosleep(&pause, NULL);
	}
}

bool generations_remove(struct generations *generations, struct generation *generation)
{
	uint64_t none = 0;
	bool known;

	pthread_mutex_lock(&generations->lock);
	known = !atomic_compare_exchange_strong(&generation->lookups, &none, GENERATION_GONE);
	for (unsigned i = 0; i < GENERATIONS_MAX && !known; i++)
		if (atomic_load(&generations->slots[i]) == generation)
			atomic_store(&generations->slots[i], NULL);
	pthread_mutex_unlock(&generations->lock);
	if (known)
		return false;
	generations_wait(generations);
	generation_put(generation);
	return true;
}

void generations_reap(struct generations *generations)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (!generation || generation == generations->prepared ||
		    generation == generations_current(generations) || atomic_load(&generation->lookups))
			continue;
		log_debug("version '%s' is closed", generation->version.label);
		generations_remove(generations, generation);
	}
}
