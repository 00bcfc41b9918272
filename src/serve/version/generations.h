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

#include "base/wake.h"
#include "image/catalogue.h"
#include "serve/version/generation.h"

#define GENERATIONS_MAX 256u /* a power of two */

/* Of a worker. */
struct generations_section {
	_Atomic uint64_t count; /* odd inside a section */
	struct generations_section *next;
};

struct generations {
	_Atomic(struct generation *) current; /* names are looked up in it */
	_Atomic(struct generation *) announced; /* the kernel knows no other: the former one until a switch is done */
	pthread_mutex_t lock; /* writers of the slots; that a version which nobody knows is found, or is taken out */
	const struct wake *wake; /* of the reaping thread: one may be closed, or was marked; NULL before it runs */
	struct generation *prepared; /* kept open to be switched to; the reaping thread's */
	_Atomic(struct generation *) slots[GENERATIONS_MAX]; /* the first free one from its sequence on */
	struct generations_section *sections; /* of all workers; constant while they run */
};

/* Before its worker runs. */
void generations_register(struct generations *generations, struct generations_section *section);

static inline void generations_enter(struct generations_section *section)
{
	atomic_store(&section->count, atomic_load_explicit(&section->count, memory_order_relaxed) + 1);
}

static inline void generations_leave(struct generations_section *section)
{
	atomic_store_explicit(&section->count, atomic_load_explicit(&section->count, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* The version that names are looked up in. In a section, under the lock, or by the thread that reaps. */
static inline struct generation *generations_current(struct generations *generations)
{
	return atomic_load(&generations->current);
}

/* In a section, under the lock, or by the thread that reaps. NULL when none is open. */
struct generation *generations_find(struct generations *generations, uint64_t sequence);
/* The opened version that a node belongs to; NULL when none has its sequence. As generations_find(). */
static inline struct generation *generations_by_node(struct generations *generations, uint64_t nodeid)
{
	return nodeid == NODE_ROOT ? generations_current(generations) :
				     generations_find(generations, nodeid_sequence(nodeid));
}
/* The latest of those that have the label, or had it when they were opened. */
struct generation *generations_by_label(struct generations *generations, const char *label);
/* In a section: counts a name that the kernel is about to know. False when it is about to be closed. */
bool generations_hold(struct generation *generation);

/* Names of it that the kernel forgot, or never took. It may be closed on return. */
void generations_forget(struct generations *generations, struct generation *generation, uint64_t lookups);
/* A read of it failed for good: the reaping thread is to look whether it is still on the volume. Any thread, in a
 * section or with a use of it. */
void generations_mark_stale(struct generations *generations, struct generation *generation);

/* Notes what became of each version by the volume's newest catalogue; NULL: another volume is there. Any thread. */
void generations_compare(struct generations *generations, const struct catalogue *catalogue);

/* generations_find() under the lock; with hold a lookup of it is counted. Any thread. */
struct generation *generations_get(struct generations *generations, uint64_t sequence, bool hold);
/* Puts *generation into the table, or gives it up for the same version that another thread put there meanwhile. With
 * hold a lookup is counted. -ENFILE when GENERATIONS_MAX are open, -ESTALE when another version has its number. Any
 * thread. */
must_check int generations_add(struct generations *generations, struct generation **generation, bool hold,
			       struct error *err);

/* The rest is the reaping thread's. */
/* On return no worker is inside a section that it entered before the call. */
void generations_wait(const struct generations *generations);
/* Unless it is known to the kernel: takes it out of the table, waits, gives the owner's use up, and returns true. */
bool generations_remove(struct generations *generations, struct generation *generation);
/* Closes what is neither current, prepared, nor known to the kernel. */
void generations_reap(struct generations *generations);
