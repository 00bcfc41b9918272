/* SPDX-License-Identifier: MIT */
/* Reads of opened versions by one thread: what these reads share, and what they report to its owner. Nothing here
 * knows where a request came from. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/error.h"
#include "image/codec.h"
#include "io/engine.h"
#include "io/file.h"
#include "read/chunk_cache.h"
#include "read/page_cache.h"
#include "read/route.h"

struct chunk;
struct read_op;

struct reader_options {
	bool verify;       /* check chunk sums; off only to measure what that costs */
	bool wait;         /* what the way to the device fails is parked and tried again, until the deadline */
	unsigned deadline; /* seconds that a read waits for the device at most */
};

struct reader_counters {
	counter64 device_reads, device_bytes, device_errors;
	counter64 checksum_failures, retries, failures;
	counter64 failed_at, error_at; /* when failures grew last, and when one of device_errors and checksum_failures
					* did; seconds since 1970 */
	counter64 cache_hits;
	counter64 block_sums_reads, block_sums_hits, block_sums_failures;
	struct counter_times device_latency;
};

/* Bytes of one copy. */
struct reader_place {
	uint32_t member;
	uint64_t offset, length;
	const struct chunk *chunk; /* NULL: it is a page of block checksums, */
	uint64_t page_sum;         /* which must have this sum */
};

/* Called on the reader's thread, before read_op.done. */
struct reader_events {
	/* The read fails. chunk: to blame; NULL: it is not one chunk's fault. */
	void (*failed)(struct read_op *op, const struct chunk *chunk, const struct error *err);
	/* Block sums are of no use, so the read begins again with whole chunks. */
	void (*fell_back)(struct read_op *op, const struct error *err);
	/* The way to the device fails with this negative errno; is_parked: the read is tried again later. */
	void (*path_failed)(struct read_op *op, int code, bool is_parked);
	/* The way to this member fails with this negative errno; another one has the same bytes. May be NULL. */
	void (*copy_failed)(struct read_op *op, uint32_t member, int code);
	/* What a member has is damaged, or cannot be read; another one has the same bytes. May be NULL. */
	void (*copy_wrong)(struct read_op *op, const struct reader_place *place, const struct error *err);
};

struct reader_setup {
	const struct reader_options *options;
	const struct file_geometry *geometry; /* by member, as in struct array_source; sizes may change */
	struct chunk_cache *cache;            /* shared by all readers of a volume, as is the next */
	struct page_cache *pages;
	struct route *route;                  /* the same; NULL: a volume of one member */
	const struct reader_events *events;
	struct reader_counters *counters;
};

/* All belongs to the reader's thread, but parked_count, which any thread may read. */
struct reader {
	struct reader_setup setup;
	struct engine *engine;  /* set by the owner before the first read */
	struct codec *codec;
	uint8_t *bounce;        /* one chunk, for a part of a compressed one */
	bool ending;            /* no read waits for the device to come back any more */
	struct read_op *parked; /* see read/park.h */
	_Atomic unsigned parked_count;
};

must_check int reader_open(struct reader *reader, const struct reader_setup *setup, struct error *err);
/* No read is in work. A zeroed one as well. */
void reader_close(struct reader *reader);
