/* SPDX-License-Identifier: MIT */
/* Keeps open versions in a small open-addressed table of atomic pointers; sections are counters that workers own. */
#include "serve/version/generations.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

#define GENERATIONS_LOOK 20000 /* ns between two looks at a section */

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

struct generation *generations_by_key(struct generations *generations, uint64_t key)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (generation && generation->key == key)
			return generation;
	}
	return NULL;
}

struct generation *generations_by_label(struct generations *generations, const char *label)
{
	struct generation *generation, *found = NULL;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (generation && !strcmp(generation->opened.version.label, label) &&
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

/* Returns true if the count is 0 now. */
static bool generations_subtract(struct generation *generation, uint64_t lookups)
{
	uint64_t now = atomic_load(&generation->lookups), then;

	do {
		if (now & (GENERATION_GONE | GENERATION_UNKNOWN))
			return false;
		then = now < lookups ? now | GENERATION_UNKNOWN : now - lookups;
	} while (!atomic_compare_exchange_weak(&generation->lookups, &now, then));
	return !then;
}

/* Has the reaping thread look whether a version can be closed, which may be closed already. */
static void generations_wake(struct generations *generations, const struct generation *generation)
{
	if (generation != generations_current(generations) && generations->wake)
		wake_up(generations->wake);
}

void generations_forget(struct generations *generations, struct generation *generation, uint64_t lookups)
{
	if (lookups && generations_subtract(generation, lookups))
		generations_wake(generations, generation);
}

/* The pin comes first: a thread that sees the lookup counted sees the pin. */
bool generations_pin(struct generation *generation)
{
	atomic_fetch_add(&generation->pins, 1);
	if (generations_hold(generation))
		return true;
	atomic_fetch_sub(&generation->pins, 1);
	return false;
}

void generations_pin_locked(struct generation *generation)
{
	atomic_fetch_add(&generation->pins, 1);
	atomic_fetch_add(&generation->lookups, 1);
}

/* The version cannot be closed before the pin is gone, so that comes last. */
void generations_unpin(struct generations *generations, struct generation *generation, bool is_given)
{
	if (!is_given)
		(void)generations_subtract(generation, 1);
	if (atomic_fetch_sub(&generation->pins, 1) == 1)
		generations_wake(generations, generation);
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
	if (catalogue_holds(catalogue, generation->sequence, generation->opened.version.uuid))
		return GENERATION_THERE;
	return catalogue_by_uuid(catalogue, generation->opened.version.uuid) ? GENERATION_MOVED : GENERATION_REMOVED;
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

struct generation *generations_get(struct generations *generations, uint64_t sequence, bool pin)
{
	struct generation *generation;

	pthread_mutex_lock(&generations->lock);
	generation = generations_find(generations, sequence);
	if (generation && pin)
		generations_pin_locked(generation);
	pthread_mutex_unlock(&generations->lock);
	return generation;
}

/* The kernel may still report forgotten names of an adopted version when that is closed and opened again. So a sequence
 * whose count was unknown once begins with an unknown count for good. The caller holds the lock. */
static void generations_mark_adopted(struct generations *generations, struct generation *generation)
{
	uint64_t *place = NULL;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		if (generations->adopted[i] == generation->sequence)
			atomic_fetch_or(&generation->lookups, GENERATION_UNKNOWN);
		if (generations->adopted[i] == generation->sequence)
			return;
		if (!place && !generations->adopted[i])
			place = &generations->adopted[i];
	}
	if (place && generation_is_unknown(generation))
		*place = generation->sequence;
}

/* The caller holds the lock. */
static int generations_put_in(struct generations *generations, struct generation *generation, struct error *err)
{
	_Atomic(struct generation *) *slot;
	int r;

	for (uint64_t i = 0; i < GENERATIONS_MAX; i++) {
		slot = &generations->slots[(generation->sequence + i) % GENERATIONS_MAX];
		if (atomic_load(slot))
			continue;
		r = generations->adding ? generations->adding(generations->owner, generation, err) : 0;
		if (r == 0)
			atomic_store(slot, generation);
		return r;
	}
	return error_set(err, -ENFILE, "%u versions are open, which is the limit", GENERATIONS_MAX);
}

int generations_add(struct generations *generations, struct generation **generation, bool pin, struct error *err)
{
	struct generation *mine = *generation, *found;
	bool is_other;
	int r;

	pthread_mutex_lock(&generations->lock);
	found = generations_find(generations, mine->sequence);
	is_other = found && !generation_is(found, &mine->opened.version);
	if (!found)
		generations_mark_adopted(generations, mine);
	if (pin && !is_other)
		generations_pin_locked(found ? found : mine);
	r = found ? 0 : generations_put_in(generations, mine, err);
	pthread_mutex_unlock(&generations->lock);
	if (is_other)
		return error_set(err, -ESTALE, "another version with the sequence of '%s' is open",
				 mine->opened.version.label);
	if (r < 0)
		return r;
	if (found)
		generation_put(mine);
	*generation = found ? found : mine;
	return 0;
}

/* Sections are short, except those of a worker that blocks (serve_machine.blocks): it reads the device inside its
 * section, and this function waits for the device. A worker that waits for requests is outside. */
bool generations_wait_unless(const struct generations *generations, const _Atomic bool *is_cancelled)
{
	for (const struct generations_section *section = generations->sections; section; section = section->next) {
		uint64_t before = atomic_load(&section->count);

		while (before % 2 && atomic_load(&section->count) == before) {
			if (atomic_load(is_cancelled))
				return false;
			clock_sleep(GENERATIONS_LOOK);
		}
	}
	return true;
}

void generations_wait(const struct generations *generations)
{
	static const _Atomic bool never;

	(void)generations_wait_unless(generations, &never);
}

/* Marks the version as being closed, if no thread or kernel can know it. */
static bool generations_seize(struct generation *generation)
{
	uint64_t lookups = atomic_load(&generation->lookups);

	if (lookups && (!(lookups & GENERATION_UNKNOWN) || lookups != atomic_load(&generation->searched)))
		return false;
	return !atomic_load(&generation->pins) &&
	       atomic_compare_exchange_strong(&generation->lookups, &lookups, GENERATION_GONE);
}

bool generations_remove(struct generations *generations, struct generation *generation)
{
	bool seized;

	pthread_mutex_lock(&generations->lock);
	seized = generations_seize(generation);
	for (unsigned i = 0; i < GENERATIONS_MAX && seized; i++)
		if (atomic_load(&generations->slots[i]) == generation)
			atomic_store(&generations->slots[i], NULL);
	pthread_mutex_unlock(&generations->lock);
	if (!seized)
		return false;
	generations_wait(generations);
	if (generations->removed)
		generations->removed(generations->owner, generation);
	generation_put(generation);
	return true;
}

void generations_reap(struct generations *generations)
{
	struct generation *generation;

	for (unsigned i = 0; i < GENERATIONS_MAX; i++) {
		generation = atomic_load(&generations->slots[i]);
		if (!generation || generation == generations->prepared ||
		    generation == generations_current(generations) || !generation_is_forgotten(generation))
			continue;
		log_debug("version '%s' is closed", generation->opened.version.label);
		generations_remove(generations, generation);
	}
}
