/* SPDX-License-Identifier: MIT */
/* Who walks: whether a thread reads files in the order of their ordinals, which is that of the tree and of the volume.
 *
 * A thread's last READ is in a place that belongs to threads with its number, so readers do not write to each other's
 * cache lines, whichever worker serves them. Nothing is locked: two READs of one thread at once, or two threads of one
 * number, cost a detection and nothing else. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WALK_GAP  4u /* files that a walker may pass over: directories and empty files are never read */
#define WALK_SURE 3u /* steps in order that make a walker, as chance makes none of a shuffled reader */

#define WALK_BUCKETS 128u
#define WALK_WAYS    4u

struct walk_bucket {
	_Atomic uint64_t places[WALK_WAYS];
	_Atomic uint32_t threads[WALK_WAYS];
} __attribute__((aligned(64)));

struct walk {
	struct walk_bucket buckets[WALK_BUCKETS];
};

/* Where a thread was. */
struct walk_place {
	uint64_t ordinal; /* 0: nothing is known of it */
	uint8_t steps;    /* in order, up to there */
	uint8_t trust;    /* not 0: it walked lately, and one step in order is enough */
	_Atomic uint64_t *at; /* walk.c's, as are the next two */
	_Atomic uint32_t *thread_at;
	uint64_t version;
	uint32_t thread;
};

/* Thread 0 is any in another process namespace. key: the version's. */
void walk_look(struct walk *walk, uint32_t thread, uint64_t key, uint64_t ordinal, struct walk_place *ret);
/* It is at this ordinal now. in_order: since its last place it skipped nothing. True: it walks. */
bool walk_step(struct walk_place *place, uint64_t ordinal, bool in_order);
/* Whether it is the next file, or nearly. */
static inline bool walk_is_next(uint64_t last, uint64_t ordinal)
{
	return last && ordinal > last && ordinal - last <= WALK_GAP;
}
