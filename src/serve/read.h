/* SPDX-License-Identifier: MIT */
/* READ: from a request to exactly one reply, over reads of the device. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "fuse/channel.h"
#include "fuse/init.h"
#include "image/extent.h"
#include "serve/worker.h"

/* Most device reads of one request at a time: a file in one piece needs one. What needs more goes in rounds.
 */
#define READ_RANGES 16u
/* Chunks that a request can touch when they are as small as can be. */
#define READ_PIECES (INIT_READ_MAX / (1u << DSFS_CHUNK_LOG_MIN) + 1u)
/* A request touches chunks of at most its own size and one chunk more; each range is widened to whole blocks.
 */
#define READ_SCRATCH \
	(INIT_READ_MAX + (1u << DSFS_CHUNK_LOG_MAX) + (READ_RANGES * 2 + READ_PAGES) * DSFS_BLOCK)
/* Pages of fine sums: only the first and the last chunk of a request are wanted in part. */
#define READ_PAGES 2u

enum read_state { READ_READY, READ_BUSY, READ_ARRIVED, READ_SETTLED };

/* One device read. */
struct read_fetch {
	struct io_read io;
	struct read_op *op;
	enum read_state state;
	int result;
	int64_t started; /* ns, monotonic */
};

/* A page of fine sums that pieces of this round are checked with; settled when it has what they need of it. */
struct read_page {
	struct read_fetch fetch;
	uint64_t number;
	uint8_t *bytes; /* in the scratch */
};

/* The part of a request that one chunk answers from the device. */
struct read_piece {
	struct extent_piece part;
	size_t at;         /* where in the payload */
	uint64_t from, to; /* bytes on the member that are read and verified for it */
	bool claimed;      /* the chunk cache waits for it */
	const struct read_page *page; /* its blocks are checked one by one; NULL: it is a whole chunk */
	uint32_t sums;                /* offset in the page of the first block's */
};

/* A run of bytes on one member that one device read fetches for consecutive pieces. */
struct read_range {
	struct read_fetch fetch;
	unsigned first, count; /* pieces */
	unsigned runs;         /* of pieces that lie together in the payload too; holes divide them */
	uint64_t end;          /* on the member, of the last piece */
	bool direct;           /* its wanted bytes land in the payload itself; else all of it in scratch */
	bool retried;
};

/* A READ in work. Lives in the worker, beside the request's slot. */
struct read_op {
	struct worker *worker;
	struct channel_request *request;
	/* Since when it waits for the device without getting on, ns, monotonic; 0: it does not. Read by the watch. */
	_Atomic int64_t since;
	bool waits;              /* to be parked: the way to the device fails */
	int path_error;          /* negative errno, how */
	struct read_op *parked;  /* the next one that is, see read_retry() */
	struct generation *generation;
	struct inode inode;
	struct extent_cursor cursor;
	uint64_t size;    /* of the reply */
	uint64_t planned; /* bytes of it that have been given a piece, a hole or a cached chunk */
	bool has_late;    /* the first chunk is being read by another request: looked at last */
	struct extent_piece late;
	bool whole; /* chunks are read whole: their fine sums are of no use */
	unsigned piece_count, range_count, page_count;
	unsigned pending; /* device reads under way, and one while they are being started */
	uint8_t *scratch;
	size_t scratch_used;
	struct read_range ranges[READ_RANGES];
	struct read_page pages[READ_PAGES];
	struct read_piece pieces[READ_PIECES];
};

void read_begin(struct worker *worker, struct channel_request *request);
/* Tries the device reads again that failed because of the way to the device; what is past the deadline fails. */
void read_retry(struct worker *worker);
