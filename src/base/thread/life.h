/* SPDX-License-Identifier: MIT */
/* The life of a thread in a word of shared memory, which other processes can look at and wait for: a robust futex.
 * The kernel marks it when the thread ends for any reason, see set_robust_list(2). */
#pragma once
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* In the shared memory. The word is 0 until a thread begins; it has the thread's number while that lives, and none
 * afterwards. */
struct life {
	_Atomic uint32_t word;
};

/* The thread's own memory, which must stay as long as the thread. */
struct life_holder {
	struct robust_list entry; /* the only one of the list */
	struct robust_list_head list;
};

/* Makes the life that of the calling thread, and wakes who waits for it to begin. A thread has one life only: the list
 * replaces that of the C library, which a thread without robust mutexes does not need. */
void life_begin(struct life *life, struct life_holder *holder);
/* Returns when it has begun and ended. One thread may wait for a life: the kernel wakes no more. */
void life_wait(struct life *life);
/* Marks the life as over and wakes who waits for it. */
void life_end(struct life *life);

/* True if it has begun and not ended. */
static inline bool life_goes_on(const struct life *life)
{
	return atomic_load_explicit(&life->word, memory_order_relaxed) & FUTEX_TID_MASK;
}

/* True if it has begun and ended. */
static inline bool life_is_over(const struct life *life)
{
	uint32_t word = atomic_load_explicit(&life->word, memory_order_relaxed);

	return word && !(word & FUTEX_TID_MASK);
}
