/* SPDX-License-Identifier: MIT */
/* The counters: each worker has its own, on cache lines of its own; a snapshot adds them up. */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"
#include "datasetfs/control.h"
#include "fuse/wire.h"
#include "read/reader.h"

static_assert(DSFS_CONTROL_LATENCY_BUCKETS == COUNTER_BUCKETS, "times are told as they are counted");

struct counters {
	counter64 requests[WIRE_OPCODES + 1]; /* the last: other opcodes */
	counter64 begun, ended;               /* requests */
	counter64 errors, interrupted;
	counter64 bytes_served, bytes_stored; /* in READ replies; into the page cache */
	counter64 files_served;               /* beginnings of files, in either way */
	counter64 prefetch_announced, prefetch_served; /* files that users announced and were taken; READs */
	counter64 ahead_served; /* READs answered with what was read ahead; the next ones are those of the threads */
	counter64 ahead_files, ahead_bytes, ahead_stored, ahead_dropped, ahead_failures;
	struct counter_times read_latency;
	struct reader_counters read;
} __attribute__((aligned(128)));
