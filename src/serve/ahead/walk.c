/* SPDX-License-Identifier: MIT */
/* A place is one word: ordinal, 8 bits of the version's key, steps, and trust. */
#include "serve/ahead/walk.h"

#include "datasetfs/format.h"

#define WALK_STEPS_MOST 255u
#define WALK_LONG       8u /* steps after which a jump is one of a walker, who goes to another directory */
#define WALK_TRUST      3u /* jumps that are taken for such */

#define WALK_STEPS_AT   DSFS_ORDINAL_BITS
#define WALK_TRUST_AT   (WALK_STEPS_AT + 8)
#define WALK_VERSION_AT (WALK_TRUST_AT + 8)

static void walk_fill(struct walk_place *place, uint64_t word)
{
	place->ordinal = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);
	place->steps = (uint8_t)(word >> WALK_STEPS_AT);
	place->trust = (uint8_t)(word >> WALK_TRUST_AT);
}

/* Threads that cannot be told apart are told by where they are. */
static bool walk_is_its(const struct walk_place *place, uint64_t word, uint32_t thread, uint64_t ordinal)
{
	uint64_t last = word & ((UINT64_C(1) << DSFS_ORDINAL_BITS) - 1);

	return thread == place->thread && word >> WALK_VERSION_AT == place->version &&
	       (thread || walk_is_next(last, ordinal));
}

void walk_look(struct walk *walk, uint32_t thread, uint64_t key, uint64_t ordinal, struct walk_place *ret)
{
	struct walk_bucket *bucket = &walk->buckets[thread % WALK_BUCKETS];
	unsigned victim = (unsigned)(ordinal % WALK_WAYS);
	uint64_t word;

	*ret = (struct walk_place){ .thread = thread, .version = key & 0xff };
	for (unsigned i = 0; i < WALK_WAYS; i++) {
		word = atomic_load_explicit(&bucket->places[i], memory_order_relaxed);
		if (walk_is_its(ret, word, atomic_load_explicit(&bucket->threads[i], memory_order_relaxed), ordinal)) {
			walk_fill(ret, word);
			victim = i;
			break;
		}
		if (!(word >> WALK_STEPS_AT & 0xffff)) /* no walker's */
			victim = i;
	}
	ret->at = &bucket->places[victim];
	ret->thread_at = &bucket->threads[victim];
}

bool walk_step(struct walk_place *place, uint64_t ordinal, bool in_order)
{
	if (ordinal == place->ordinal) /* its head once more */
		return false;
	if (in_order) {
		place->steps += place->steps < WALK_STEPS_MOST;
	} else {
		if (place->steps >= WALK_LONG)
			place->trust = WALK_TRUST;
		else
			place->trust -= place->trust && !place->steps; /* a jump after a jump is no walk */
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
