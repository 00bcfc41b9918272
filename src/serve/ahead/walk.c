/* SPDX-License-Identifier: MIT */
/* Keeps each place in one word: ordinal, 8 bits of the version's key, steps, and trust. */
#include "serve/ahead/walk.h"

#include "datasetfs/format.h"

#define WALK_STEPS_MOST 255u
#define WALK_LONG       8u /* steps after which a jump counts as a walker's, to another directory */
#define WALK_TRUST      3u /* jumps right after another jump that end the trust in a walker */

#define WALK_STEPS_AT   DSFS_ORDINAL_BITS
#define WALK_TRUST_AT   (WALK_STEPS_AT + 8)
#define WALK_VERSION_AT (WALK_TRUST_AT + 8)

static void walk_fill(struct walk_place *place, uint64_t word)
{
	place->ordinal = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
	place->steps = (uint8_t)(word >> WALK_STEPS_AT);
	place->trust = (uint8_t)(word >> WALK_TRUST_AT);
}

/* Whether the word is the thread's place. Threads with number 0 are told apart by where they are. */
static bool walk_is_its(const struct walk_place *place, uint64_t word, uint32_t thread, uint64_t ordinal)
{
	uint64_t last = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);

	return thread == place->thread && word >> WALK_VERSION_AT == place->version &&
	       (thread || walk_is_next(last, ordinal));
}

/* Chooses a place for a thread that has none: a free one, that of a thread which does not walk, or any. */
static unsigned walk_victim(const struct walk_bucket *bucket, uint64_t ordinal)
{
	unsigned victim = (unsigned)(ordinal % WALK_WAYS);
	struct walk_place place;
	bool walks = true;
	uint64_t word;

	for (unsigned i = 0; i < WALK_WAYS; i++) {
		word = atomic_load_explicit(&bucket->places[(ordinal + i) % WALK_WAYS], memory_order_relaxed);
		if (!word)
			return (unsigned)((ordinal + i) % WALK_WAYS);
		walk_fill(&place, word);
		if (walks && place.steps < WALK_SURE && !place.trust) {
			victim = (unsigned)((ordinal + i) % WALK_WAYS);
			walks = false;
		}
	}
	return victim;
}

void walk_look(struct walk *walk, uint32_t thread, uint64_t key, uint64_t ordinal, struct walk_place *ret)
{
	struct walk_bucket *bucket = &walk->buckets[thread % WALK_BUCKETS];
	uint64_t word;
	unsigned i = 0;

	*ret = (struct walk_place){ .thread = thread, .version = key & 0xff };
	for (; i < WALK_WAYS; i++) {
		word = atomic_load_explicit(&bucket->places[i], memory_order_relaxed);
		if (!walk_is_its(ret, word, atomic_load_explicit(&bucket->threads[i], memory_order_relaxed), ordinal))
			continue;
		walk_fill(ret, word);
		break;
	}
	if (i == WALK_WAYS)
		i = walk_victim(bucket, ordinal);
	ret->at = &bucket->places[i];
	ret->thread_at = &bucket->threads[i];
}

bool walk_step(struct walk_place *place, uint64_t ordinal, bool in_order)
{
	if (ordinal == place->ordinal) /* another READ of the file's head */
		return false;
	if (in_order) {
		place->steps += place->steps < WALK_STEPS_MOST;
	} else {
		if (place->steps >= WALK_LONG)
			place->trust = WALK_TRUST;
		else
			place->trust -= place->trust && !place->steps; /* a jump right after a jump */
		place->steps = 0;
	}
	place->ordinal = ordinal;
	atomic_store_explicit(place->at,
			      ordinal | (uint64_t)place->steps << WALK_STEPS_AT |
				      (uint64_t)place->trust << WALK_TRUST_AT | place->version << WALK_VERSION_AT,
			      memory_order_relaxed);
	atomic_store_explicit(place->thread_at, place->thread, memory_order_relaxed);
	return place->steps && place->steps + (place->trust ? WALK_SURE - 1 : 0) >= WALK_SURE;
}
