/* SPDX-License-Identifier: MIT */
/* Detects walkers: threads that read files in the order of their ordinals, which is that of the tree and of the volume.
 *
 * A thread's last READ is recorded in an entry that only threads with its tid use, so readers do not write to each
 * other's cache lines, whichever worker serves them. There is no lock: two concurrent READs of one thread, or two
 * threads with the same tid, at worst leave a walker undetected. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WALKERS_GAP  4u /* largest step in ordinals: a walker passes directories and empty files without a READ */
#define WALKERS_SURE 3u /* steps in order that make a walker; a shuffled reader does not make them by chance */

#define WALKERS_BUCKETS 128u
#define WALKERS_WAYS    4u

struct walkers_bucket {
	_Atomic uint64_t places[WALKERS_WAYS];
	_Atomic uint32_t threads[WALKERS_WAYS];
} __attribute__((aligned(64)));

struct walkers {
	struct walkers_bucket buckets[WALKERS_BUCKETS];
};

/* The last place of a thread. */
struct walkers_place {
	uint64_t ordinal; /* file that it read last; 0: unknown */
	uint8_t steps;    /* steps in order up to that file */
	uint8_t trust;    /* not 0: the thread walked lately, and one step in order makes it a walker again */
	_Atomic uint64_t *at; /* this field and the next three: walkers.c only */
	_Atomic uint32_t *thread_at;
	uint64_t version;
	uint32_t thread;
};

/* Finds the last place of a thread. thread: its tid; 0 stands for all threads of other pid namespaces, which are told
 * apart by where they last read. ordinal: the file that it reads now. key: of its generation. */
void walkers_look(struct walkers *walkers, uint32_t thread, uint64_t key, uint64_t ordinal, struct walkers_place *ret);
/* Records that the thread is at this file now. in_order: it has skipped no file since its last place. Returns whether
 * the thread is a walker. */
bool walkers_step(struct walkers_place *place, uint64_t ordinal, bool in_order);
/* Whether a step from `last` to `ordinal` is in order: to the next file, or WALKERS_GAP ordinals on at most. */
static inline bool walkers_is_next(uint64_t last, uint64_t ordinal)
{
	return last && ordinal > last && ordinal - last <= WALKERS_GAP;
}
