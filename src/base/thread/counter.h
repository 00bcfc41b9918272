/* SPDX-License-Identifier: MIT */
/* Counters that one thread adds to and any thread may read. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#define COUNTER_BUCKETS 24u /* of times, in powers of two of a microsecond; the last takes all longer times */

typedef _Atomic uint64_t counter64;

/* A plain load and store are enough because only the owning thread adds. */
static inline void counter_add(counter64 *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

/* Sets the counter to the current time in seconds since 1970. */
static inline void counter_stamp(counter64 *counter)
{
	atomic_store_explicit(counter, (uint64_t)time(NULL), memory_order_relaxed);
}

struct counter_times {
	counter64 buckets[COUNTER_BUCKETS];
	counter64 sum; /* ns */
};

/* Adds one interval of ns nanoseconds to the histogram. */
static inline void counter_span(struct counter_times *times, int64_t ns)
{
	uint64_t us = (uint64_t)ns / 1000;
	unsigned bucket = us ? 64u - (unsigned)__builtin_clzll(us) : 0;

	counter_add(&times->buckets[bucket < COUNTER_BUCKETS ? bucket : COUNTER_BUCKETS - 1], 1);
	counter_add(&times->sum, (uint64_t)ns);
}
