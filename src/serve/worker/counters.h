/* SPDX-License-Identifier: MIT */
/* The counters of one thread, on cache lines of its own; readers of stats.json add up those of all threads. */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thread/counter.h"
#include "datasetfs/control.h"
#include "fuse/wire.h"
#include "read/reader.h"

static_assert(DSFS_CONTROL_LATENCY_BUCKETS == COUNTER_BUCKETS, "the reports have as many buckets as the counters");

struct counters {
	counter64 requests[WIRE_OPCODES + 1]; /* by opcode; the last element counts unknown opcodes */
	counter64 begun, ended;               /* requests */
	counter64 errors, interrupted;
	counter64 bytes_served, bytes_stored; /* bytes in READ replies; bytes stored into the page cache */
	counter64 files_served;               /* files whose first byte was served or stored */
	counter64 prefetch_announced, prefetch_served; /* announced files accepted; READs answered from them */
	counter64 ahead_served; /* READs answered with bytes that were read ahead of a walker */
	/* Only fetchers count these. */
	counter64 ahead_files, ahead_bytes, ahead_stored, ahead_dropped, ahead_failures;
	struct counter_times read_latency;
	struct reader_counters read;
} __attribute__((aligned(128)));
