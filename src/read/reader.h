/* SPDX-License-Identifier: MIT */
/* Reads of opened versions by one thread: their shared state, and their reports to its owner. Nothing here knows where
 * a request came from. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/thread/busy.h"
#include "base/thread/counter.h"
#include "image/codec.h"
#include "image/sums/sum.h"
#include "io/engine.h"
#include "io/file.h"
#include "io/window.h"
#include "read/chunk_cache.h"
#include "read/page_cache.h"
#include "read/route.h"

struct cached;
struct chunk;
struct read_fetch;
struct read_op;

struct reader_options {
	bool verify;       /* check chunk sums; off only to measure their cost */
	bool wait;         /* reads that fail on the path to the device are parked and retried until the deadline */
	unsigned deadline; /* most seconds that a read waits for the device */
};

struct reader_counters {
	counter64 device_reads, device_bytes, device_errors;
	counter64 checksum_failures, retries, failures;
	counter64 failed_at, error_at; /* last change of failures, and of device_errors or checksum_failures; seconds
					* since 1970 */
	counter64 cache_hits;
	counter64 local_hits, local_bytes, local_errors; /* device reads of read/cached.h */
	counter64 held, held_time; /* device reads that waited for the window, and how long, ns */
	counter64 block_sums_reads, block_sums_hits, block_sums_failures;
	struct counter_times device_latency;
};

/* A range of bytes in one copy. */
struct reader_place {
	uint32_t member;
	uint64_t offset, length;
	const struct chunk *chunk; /* NULL: a page of block checksums */
	struct sum page_sum;       /* the sum that the page must have */
};

struct reader;

/* Called on the reader's thread, before read_op.done. */
struct reader_events {
	/* The read fails, or that of a list goes on without this chunk. chunk is the one to blame; NULL: no single
	 * chunk is. */
	void (*failed)(struct read_op *op, const struct chunk *chunk, const struct error *err);
	/* The read starts again with whole chunks, because block checksums did not help. This one and the following may
	 * be NULL. */
	void (*fell_back)(struct read_op *op, const struct error *err);
	/* The path to the device fails with this negative errno; is_parked: the read is retried later. */
	void (*path_failed)(struct read_op *op, int code, bool is_parked);
	/* The path to this member fails with this negative errno; another member has the same bytes. */
	void (*copy_failed)(struct read_op *op, uint32_t member, int code);
	/* The bytes on a member are damaged or unreadable; another member has the same bytes. */
	void (*copy_wrong)(struct read_op *op, const struct reader_place *place, const struct error *err);
	/* Called before and after the work on a read that read_begin() has left under way: it looks at a device's
	 * answer, or tries again. done() may have been called in between. Both or none may be NULL. */
	void (*works)(struct read_op *op);
	void (*rests)(struct reader *reader);
};

struct reader_setup {
	const struct reader_options *options;
	const struct file_geometry *geometry; /* by member, as in struct array_source; sizes may change */
	struct chunk_cache *cache;            /* shared by all readers of a volume, like pages and route */
	struct page_cache *pages;
	struct route *route;                  /* NULL: a volume of one member */
	struct window *window;                /* NULL: reads never wait for others; shared, too */
	struct cached *cached;                /* NULL: the volume has no cache on this machine; shared, too */
	bool keeps;                           /* the bytes that it reads go into that cache */
	enum window_class class;              /* of all reads of the reader */
	const struct reader_events *events;
	struct reader_counters *counters;
};

/* The reader's part of the window; see read/hold.h. */
struct read_hold {
	struct read_fetch *first;         /* that waits */
	struct read_fetch *oldest, *last; /* that counts as under way, with a route */
	struct window_thread thread;
	uint64_t turn; /* of the read that began last */
	int64_t looked;    /* when the thread last looked how busy it was, */
	struct busy busy;  /* what it found, */
	double share;      /* and the part of the time before that, see hold_own() */
	bool is_starting;
};

/* Belongs to the reader's thread, except parked_count, which any thread may read. */
struct reader {
	struct reader_setup setup;
	struct engine *engine;  /* set by the owner before the first read */
	struct codec *codec;
	uint8_t *bounce;        /* room for one chunk that is wanted only in part */
	struct read_hold hold;
	bool ending;            /* no read waits for the device any more */
	struct read_op *parked; /* see read/park.h */
	_Atomic unsigned parked_count;
};

must_check int reader_open(struct reader *reader, const struct reader_setup *setup, struct error *err);
/* Requires that no read is in progress. A zeroed reader may be closed too. */
void reader_close(struct reader *reader);
