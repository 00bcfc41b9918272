/* SPDX-License-Identifier: MIT */
/* Counters: each worker has its own, on cache lines of its own; a snapshot adds them up. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "datasetfs/control.h"
#include "fuse/wire.h"

typedef _Atomic uint64_t stats_counter;

struct stats {
	stats_counter requests[WIRE_OPCODES + 1]; /* the last: other opcodes */
	stats_counter begun, ended;               /* requests */
	stats_counter errors, interrupted;
	stats_counter bytes_served;
	stats_counter device_reads, device_bytes, device_errors;
	stats_counter checksum_failures, retries, read_failures, cache_hits;
	stats_counter fine_reads, fine_hits, fine_failures;
	stats_counter read_latency[CONTROL_LATENCY_BUCKETS];
	stats_counter device_latency[CONTROL_LATENCY_BUCKETS];
} __attribute__((aligned(128)));

/* Only the worker itself counts, so a load and a store are enough. */
static inline void stats_add(stats_counter *counter, uint64_t n)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
			      memory_order_relaxed);
}

/* Counts the time since then (ns, monotonic). */
void stats_time(stats_counter buckets[CONTROL_LATENCY_BUCKETS], int64_t since);

struct json;
struct serve;
/* What stats.json holds. */
void stats_write(struct serve *serve, struct json *json);
