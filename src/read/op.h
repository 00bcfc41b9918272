/* SPDX-License-Identifier: MIT */
/* A read in progress: the request, and the pieces, ranges and pages that it is split into. */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/source.h"
#include "image/address.h"
#include "image/block_sums.h"
#include "image/extent.h"
#include "image/inode.h"
#include "read/reader.h"

#define READ_MAX (1u << 20) /* bytes of the largest read */
/* Most device reads of one request at a time: a file in one piece needs one. What needs more goes in rounds.
 */
#define READ_RANGES 16u
/* Chunks that a request can touch when they are as small as can be. */
#define READ_PIECES (READ_MAX / (1u << DSFS_CHUNK_LOG_MIN) + 1u)
/* A request touches chunks of at most its own size and one chunk more; each range is widened to whole blocks.
 */
#define READ_SCRATCH \
	(READ_MAX + (1u << DSFS_CHUNK_LOG_MAX) + (READ_RANGES * 2 + READ_PAGES) * DSFS_BLOCK)
/* Pages of block checksums: only the first and the last chunk of a request are wanted in part. */
#define READ_PAGES 2u

enum read_state { READ_READY, READ_BUSY, READ_ARRIVED, READ_SETTLED };

/* One device read. */
struct read_fetch {
	struct io_read io;
	struct read_op *op;
	enum read_state state;
	int result;
	int64_t started;  /* ns, monotonic */
	uint64_t address; /* where it begins; of bytes that have copies, in the first: io says which is read */
	uint32_t first;   /* which copy the first try reads */
	uint32_t tries;   /* that failed */
	int path_error;   /* negative errno, with which one did since the copies took turns; 0: none */
};

/* A page of block checksums that pieces of this round are checked with; settled when it has what they need of it. */
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
};

/* An opened version. key: no other opening has it. */
struct read_version {
	const struct index *index;
	const struct block_sums *block_sums; /* NULL: it has no sums of blocks */
	uint64_t key;
};

/* A read of a range of a regular file, or of a list of chunks. Everything lives until done() was called. */
struct read_request {
	struct read_version version;
	struct inode inode;
	uint64_t offset, size; /* size: at most READ_MAX; what lies behind the end of the file is not read */
	/* Not NULL: these chunks, whole, are read instead of inode, offset and size; their contents come one behind the
	 * other. Between two of them on the device up to gap bytes are read over rather than skipped. All contents, all
	 * stored bytes with these gaps: each at most READ_MAX. */
	const struct chunk *chunks;
	uint32_t chunk_count, gap;
	/* The device writes to it where its address and the place on the device agree in blocks, else bytes are copied.
	 * With room for whole blocks fewer are: room bytes are there, lead bytes before it may be written to. */
	uint8_t *payload;
	size_t room, lead;
	uint8_t *scratch;      /* READ_SCRATCH bytes, page-aligned, of this read alone */
	/* After read_leave() the payload is needed again: bytes that have copies come to it by the scratch. */
	bool keeps_payload;
	uint32_t copy; /* from 1: of bytes that have copies this one is read, and no other; 0: any */
	bool is_ahead; /* if it fails, it is read again for whoever wants it, and that counts as a failure */
	const _Atomic uint64_t *wanted; /* 0 there: nobody waits for it any more, which ends it; NULL: always wanted */
	/* Exactly once: bytes in the payload, or a negative errno; -ECANCELED: not wanted any more.
	 * The last that is done with op; it may be used again from here on. */
	void (*done)(struct read_op *op, int64_t result);
};

/* Made by its owner, zeroed, who fills in the request; from read_begin() to done() the reader's. */
struct read_op {
	struct reader *reader;
	struct read_request request;
	/* Since when it waits for the device without getting on, ns, monotonic; 0: it does not. Any thread may read
	 * it. */
	_Atomic int64_t waiting_since;
	struct engine *left_to;  /* by read_leave(): it counts what is under way; NULL: it is not left */
	bool waits;              /* to be parked: the way to the device fails */
	int path_error;          /* negative errno, how */
	struct read_op *parked;  /* the next one that is, see reader.parked */
	struct extent_cursor cursor; /* of a range */
	uint32_t next_chunk;         /* of a list */
	uint32_t mismatches; /* chunks that were not what was packed, each time they were read */
	uint64_t size;    /* of the answer */
	uint64_t planned; /* bytes of it that have been given a piece, a hole or a cached chunk */
	bool has_late;    /* the first chunk is being read by another request: looked at last */
	struct extent_piece late;
	bool whole; /* chunks are read whole: their block checksums are of no use */
	unsigned piece_count, range_count, page_count;
	unsigned pending; /* device reads under way, and one while they are being started */
	size_t scratch_used;
	struct read_range ranges[READ_RANGES];
	struct read_page pages[READ_PAGES];
	struct read_piece pieces[READ_PIECES];
};

static inline uint64_t op_align(const struct read_op *op)
{
	return op->reader->setup.geometry->logical_block;
}

static inline const struct read_piece *op_last(const struct read_op *op, const struct read_range *range)
{
	return &op->pieces[range->first + range->count - 1];
}

/* Where the wanted bytes begin on the member, of a raw chunk. */
static inline uint64_t op_wanted(const struct read_piece *piece)
{
	return address_offset(piece->part.chunk.address) + piece->part.skip;
}

static inline void op_drop_claims(struct read_op *op)
{
	for (unsigned i = 0; i < op->piece_count; i++) {
		if (op->pieces[i].claimed)
			chunk_cache_drop(op->reader->setup.cache, op->request.version.key,
					 op->pieces[i].part.chunk.number);
		op->pieces[i].claimed = false;
	}
}
