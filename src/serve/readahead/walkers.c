/* SPDX-License-Identifier: MIT */
/* Keeps each place in one word: ordinal, 8 bits of the version's key, steps, and trust. */
#include "serve/readahead/walkers.h"

#include "datasetfs/format.h"

#define WALKERS_STEPS_MOST 255u
#define WALKERS_LONG       8u /* steps after which a jump counts as a walker's, to another directory */
#define WALKERS_TRUST      3u /* jumps right after another jump that end the trust in a walker */

#define WALKERS_STEPS_AT   DSFS_ORDINAL_BITS
#define WALKERS_TRUST_AT   (WALKERS_STEPS_AT + 8)
#define WALKERS_VERSION_AT (WALKERS_TRUST_AT + 8)

static void walkers_fill(struct walkers_place *place, uint64_t word)
{
	place->ordinal = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
	place->steps = (uint8_t)(word >> WALKERS_STEPS_AT);
	place->trust = (uint8_t)(word >> WALKERS_TRUST_AT);
}

/* Whether the word is the thread's place. Their places distinguish threads with number 0. */
static bool walkers_is_its(const struct walkers_place *place, uint64_t word, uint32_t thread, uint64_t ordinal)
{
	uint64_t last = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);

	return thread == place->thread && word >> WALKERS_VERSION_AT == place->version &&
	       (thread || walkers_is_next(last, ordinal));
}

/* Chooses a place for a thread that has none: a free one, that of a thread which does not walk, or any. */
static unsigned walkers_victim(const struct walkers_bucket *bucket, uint64_t ordinal)
{
	unsigned victim = (unsigned)(ordinal % WALKERS_WAYS);
	struct walkers_place place;
	bool walks = true;
	uint64_t word;

	for (unsigned i = 0; i < WALKERS_WAYS; i++) {
		word = atomic_load_explicit(&bucket->places[(ordinal + i) % WALKERS_WAYS], memory_order_relaxed);
		if (!word)
			return (unsigned)((ordinal + i) % WALKERS_WAYS);
		walkers_fill(&place, word);
		if (walks && place.steps < WALKERS_SURE && !place.trust) {
			victim = (unsigned)((ordinal + i) % WALKERS_WAYS);
			walks = false;
		}
	}
	return victim;
}

void walkers_look(struct walkers *walkers, uint32_t thread, uint64_t key, uint64_t ordinal, struct walkers_place *ret)
{
	struct walkers_bucket *bucket = &walkers->buckets[thread % WALKERS_BUCKETS];
	uint32_t owner;
	uint64_t word;
	unsigned i = 0;

	*ret = (struct walkers_place){ .thread = thread, .version = key & 0xff };
	for (; i < WALKERS_WAYS; i++) {
		word = atomic_load_explicit(&bucket->places[i], memory_order_relaxed);
		owner = atomic_load_explicit(&bucket->threads[i], memory_order_relaxed);
		if (!walkers_is_its(ret, word, owner, ordinal))
			continue;
		walkers_fill(ret, word);
		break;
	}
	if (i == WALKERS_WAYS)
		i = walkers_victim(bucket, ordinal);
	ret->at = &bucket->places[i];
	ret->thread_at = &bucket->threads[i];
}

bool walkers_step(struct walkers_place *place, uint64_t ordinal, bool in_order)
{
	if (ordinal == place->ordinal) /* another READ of the file's head */
		return false;
	if (in_order) {
		place->steps += place->steps < WALKERS_STEPS_MOST;
	} else {
		if (place->steps >= WALKERS_LONG)
			place->trust = WALKERS_TRUST;
		else
			place->trust -= place->trust && !place->steps; /* a jump right after a jump */
		place->steps = 0;
	}
	place->ordinal = ordinal;
	atomic_store_explicit(place->at,
			      ordinal | (uint64_t)place->steps << WALKERS_STEPS_AT |
				      (uint64_t)place->trust << WALKERS_TRUST_AT | place->version << WALKERS_VERSION_AT,
			      memory_order_relaxed);
	atomic_store_explicit(place->thread_at, place->thread, memory_order_relaxed);
	return place->steps && place->steps + (place->trust ? WALKERS_SURE - 1 : 0) >= WALKERS_SURE;
}
