/* SPDX-License-Identifier: MIT */
/* The open versions of a mount: found by sequence without a lock, reaped only by the control thread.
 *
 * A worker finds a generation inside a section (generations_enter() to generations_leave()) and may use it until the
 * end of the section, or longer if it takes a use. The control thread reaps a generation in three steps: it removes it
 * from the table, waits until every worker has been outside a section, and closes it. Another thread that opens
 * versions counts a lookup of its own before it releases the lock. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/thread/wake.h"
#include "image/catalogue/catalogue.h"
#include "serve/version/generation.h"

#define GENERATIONS_MAX 256u /* a power of two */

/* A worker's record of whether it is inside a section. */
struct generations_section {
	_Atomic uint64_t count; /* odd inside a section */
	struct generations_section *next;
};

struct generations {
	_Atomic(struct generation *) current; /* the version that paths through the mountpoint lead to */
	_Atomic(struct generation *) announced; /* during a switch the former version, otherwise the current one */
	pthread_mutex_t lock; /* held to write a slot, and to count a lookup of a version that may be removed */
	const struct wake *wake; /* wakes the reaping thread, to close or examine a version; NULL before it runs */
	/* Called under the lock before a version is put into the table, and after one was taken out, before it is
	 * closed. Both may be NULL. */
	int (*adding)(void *owner, const struct generation *generation, struct error *err);
	void (*removed)(void *owner, const struct generation *generation);
	void *owner; /* for both */
	struct generation *prepared; /* kept open for a later switch; reaping thread only */
	_Atomic(struct generation *) slots[GENERATIONS_MAX]; /* open addressing, hashed by sequence */
	uint64_t adopted[GENERATIONS_MAX]; /* sequences of versions that were unknown when they were added; 0: free */
	struct generations_section *sections; /* list of all workers' sections; constant while they run */
};

/* Adds a worker's section to the list. Call it before that worker runs. */
void generations_register(struct generations *generations, struct generations_section *section);

/* Enters a section, in which the worker may find versions and use them. */
static inline void generations_enter(struct generations_section *section)
{
	atomic_store(&section->count, atomic_load_explicit(&section->count, memory_order_relaxed) + 1);
}

/* Leaves the section. The worker may go on using only versions that it holds a use of. */
static inline void generations_leave(struct generations_section *section)
{
	atomic_store_explicit(&section->count, atomic_load_explicit(&section->count, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* The version that paths through the mountpoint lead to. Call it in a section, under the lock, or on the reaping
 * thread. */
static inline struct generation *generations_current(struct generations *generations)
{
	return atomic_load(&generations->current);
}

/* The open version with this sequence, or NULL. Call it in a section, under the lock, or on the reaping thread. */
struct generation *generations_find(struct generations *generations, uint64_t sequence);
/* The open version that a node belongs to, or NULL. Call it in a section, under the lock, or on the reaping thread. */
static inline struct generation *generations_by_node(struct generations *generations, uint64_t nodeid)
{
	return nodeid == NODE_ROOT ? generations_current(generations) :
				     generations_find(generations, nodeid_sequence(nodeid));
}
/* The open version with this key, or NULL. Call it in a section, under the lock, or on the reaping thread. */
struct generation *generations_by_key(struct generations *generations, uint64_t key);
/* The open version with the highest sequence among those that had this label when they were opened, or NULL. Call it
 * in a section, under the lock, or on the reaping thread. */
struct generation *generations_by_label(struct generations *generations, const char *label);
/* Counts a lookup before a name of the version goes to the kernel. False: the version is being closed, so no name of it
 * may go out. Call it in a section. */
bool generations_hold(struct generation *generation);

/* Subtracts lookups for names that the kernel forgot or never took. The version may be closed on return. Nothing is
 * subtracted while the count is unknown, and it becomes unknown if it is less than that: the kernel reports forgotten
 * names late, maybe after the version was closed and opened again. */
void generations_forget(struct generations *generations, struct generation *generation, uint64_t lookups);

/* Counts a lookup for a thread that uses the version outside of a section, and keeps it open until generations_unpin(),
 * also if the count is unknown. False: the version is being closed. Call it in a section. */
bool generations_pin(struct generation *generation);
/* Ends a pin. is_given: the lookup belongs to a name that the kernel has got now. The version may be closed on
 * return. */
void generations_unpin(struct generations *generations, struct generation *generation, bool is_given);
/* Notes that a read of the version failed for good, and has the reaping thread check that it is still on the volume.
 * Any thread may call this, in a section or with a use of the version. */
void generations_mark_stale(struct generations *generations, struct generation *generation);

/* Sets the fate of each open version from the volume's newest catalogue. catalogue NULL: the volume was reformatted.
 * Any thread may call this. */
void generations_compare(struct generations *generations, const struct catalogue *catalogue);

/* Finds an open version by its sequence, or returns NULL; takes the lock. pin: pins it for the caller, as
 * generations_pin() does. Any thread may call this. */
struct generation *generations_get(struct generations *generations, uint64_t sequence, bool pin);
/* Pins a version that the caller found under the lock. */
void generations_pin_locked(struct generation *generation);
/* Puts *generation into the table. If another thread has added the same version meanwhile, gives up the caller's use
 * and sets *generation to that one. pin: pins it for the caller. -ENFILE: GENERATIONS_MAX versions are open; -ESTALE:
 * another version with this sequence is open. Its count is unknown if it was once for a version of this sequence. Any
 * thread may call this. */
must_check int generations_add(struct generations *generations, struct generation **generation, bool pin,
			       struct error *err);
/* Waits until every worker has left the section that it was in at the call. False: is_cancelled was set meanwhile. Any
 * thread outside a section may call this. */
bool generations_wait_unless(const struct generations *generations, const _Atomic bool *is_cancelled);

/* The functions below are for the reaping thread only. */
/* Waits like generations_wait_unless(), but cannot be cancelled. */
void generations_wait(const struct generations *generations);
/* Takes a version out of the table, waits until no worker's section can have it, and gives up the owner's use. False:
 * the kernel may still know the version, or it is pinned, and nothing was done. */
bool generations_remove(struct generations *generations, struct generation *generation);
/* Closes every version that is neither current, nor prepared, nor known to the kernel. */
void generations_reap(struct generations *generations);
