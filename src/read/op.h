/* SPDX-License-Identifier: MIT */
/* A read in progress: the request, and the pieces, ranges and pages that it is split into. */
#pragma once
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/direct.h"
#include "base/source.h"
#include "image/catalogue/block_sums.h"
#include "image/extent.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "read/reader.h"

#define READ_MAX (1u << 20) /* bytes of the largest read */
/* The most device reads of one request at a time; a file in one piece needs one. A request that needs more takes
 * several rounds. */
#define READ_RANGES 16u
/* The most chunks that a request can touch, at the smallest chunk size. */
#define READ_PIECES (READ_MAX / (1u << DSFS_CHUNK_LOG_MIN) + 1u)
/* Room for the chunks of a request, which are at most its own size and one chunk more, each range widened to whole
 * blocks. */
#define READ_SCRATCH \
	(READ_MAX + (1u << DSFS_CHUNK_LOG_MAX) + (READ_RANGES * 2 + READ_PAGES) * DSFS_BLOCK)
/* Pages of block checksums: only the first and the last chunk of a request are wanted in part. */
#define READ_PAGES 2u

enum read_state { READ_READY, READ_HELD, READ_BUSY, READ_ARRIVED, READ_SETTLED };

/* One device read. */
struct read_fetch {
	struct io_read io;
	struct read_op *op;
	enum read_state state;
	int result;
	int64_t started;  /* ns, monotonic; while it is held, when that began */
	uint64_t address; /* where it begins; with copies, in the first one, while io has the one that is read */
	uint32_t first;   /* index of the copy that the first try reads */
	uint32_t tries;   /* failed tries */
	int path_error;   /* negative errno of a path failure in this turn through the copies; 0: none */
	/* hold.c's: the next held read, or the neighbours of one that counts in the window. */
	struct read_fetch *before, *after;
	uint64_t turn;
	bool is_counted;
	bool was_late; /* it was looked at when it was late */
	/* cached.c's: */
	uint64_t shift; /* where the cache has the bytes, minus where the member has them */
	bool may_hit;   /* the cache may have them */
	bool hits;      /* they are read from there now */
};

/* A page of block checksums that verifies pieces of this round; settled when it has the sums that they need. */
struct read_page {
	struct read_fetch fetch;
	uint64_t number;
	uint8_t *bytes; /* in the scratch */
};

/* The part of a request that one chunk answers from the device. */
struct read_piece {
	struct extent_piece part;
	uint8_t *out;      /* where the wanted bytes go */
	uint64_t from, to; /* bytes on the member that are read and verified for it */
	bool claimed;      /* the chunk cache waits for it */
	bool is_apart;     /* of a list: it is to be read again without its neighbours */
	bool was_wrong;    /* its sum did not match, when it was read with them */
	const struct read_page *page; /* has the sums of its blocks; NULL: the whole chunk is verified */
	uint32_t sums;                /* offset in the page of the chunk's row */
};

/* A run of bytes on one member that one device read fetches for consecutive pieces. */
struct read_range {
	struct read_fetch fetch;
	unsigned first, count; /* pieces */
	unsigned runs;         /* groups of pieces that are contiguous in the payload too; holes separate them */
	uint64_t end;          /* end of the last piece, on the member */
	bool direct;           /* wanted bytes go straight to the payload; else everything goes to scratch */
	bool was_wrong;        /* a sum did not match */
};

/* An opened version. No other opening has the same key. */
struct read_version {
	const struct index *index;
	const struct block_sums *block_sums; /* NULL: it has no block checksums */
	uint64_t key;
};

/* A read of a range of a regular file, or of a list of chunks. Everything that it refers to must live until done(). */
struct read_request {
	struct read_version version;
	struct inode inode;
	uint64_t offset, size; /* size: at most READ_MAX; the read stops at the end of the file */
	/* If not NULL, these whole chunks are read instead of inode, offset and size, and their contents are placed
	 * one after the other. Up to gap bytes between two of them on the device are read over, not skipped. All
	 * contents, and all stored bytes with these gaps, are each at most READ_MAX. The read goes on without a chunk
	 * that cannot be read: reader_events.failed() names each, and the result lacks its bytes. */
	const struct chunk *chunks;
	uint32_t chunk_count, gap;
	/* The chunks, which are on one member in the order of their addresses and not compressed, are placed as far
	 * apart as there, so that the device writes all of a range, and its gaps, into the payload. That has lead and
	 * room for the first and the last whole block. */
	bool is_spread;
	/* If not NULL, the content of each of the chunks goes to an address of its own, by a copy, and not to the
	 * payload. */
	uint8_t *const *places;
	/* The device writes into it where memory and device offset are equally aligned to blocks; other bytes are
	 * copied. Room for whole blocks saves copies: room bytes may be written to, and lead bytes before them. */
	uint8_t *payload;
	size_t room, lead;
	uint8_t *scratch;      /* READ_SCRATCH bytes, page-aligned, used by this read alone */
	/* The payload is needed again after read_leave(), so bytes that have copies reach it through the scratch. */
	bool keeps_payload;
	uint32_t copy; /* from 1: the only copy to read of bytes that have copies; 0: any */
	uint32_t user; /* users take turns when reads have to wait */
	bool is_ahead; /* read ahead: if it fails, the user's own read repeats it and counts the failure */
	const _Atomic uint64_t *wanted; /* the read ends when this is 0: it is no longer wanted; NULL: it always is */
	/* Called exactly once with the bytes in the payload or a negative errno; -ECANCELED: not wanted any more.
	 * This is the reader's last use of op, which may be reused from here on. */
	void (*done)(struct read_op *op, int64_t result);
};

/* A read's wait for the device. */
struct read_wait {
	_Atomic int64_t since; /* start without progress, ns, monotonic; 0: it does not wait. Any thread may read it. */
	bool to_park;          /* the read must be parked, because the path to the device fails */
	int path_error;        /* negative errno of that failure */
	struct read_op *next;  /* in reader.parked */
};

/* One read. The owner zeroes it and fills in the request; from read_begin() to done() it is the reader's. */
struct read_op {
	struct reader *reader;
	struct read_request request;
	struct read_wait wait;
	uint32_t avoided; /* number of a member, and 1, that is not the first choice; 0: none is */
	struct engine *left_to;  /* set by read_leave(): the engine that counts its reads in flight; NULL: not left */
	struct extent_cursor cursor; /* of a range */
	uint32_t next_chunk;         /* of a list */
	uint32_t mismatches; /* checksum mismatches of chunks, counted at each read */
	uint32_t unsteady;   /* device reads with a mismatch that were right later */
	uint64_t size;    /* of the answer */
	uint64_t lost;    /* bytes of it that a list goes without */
	bool has_apart;   /* some pieces are to be read apart */
	uint64_t split;   /* bytes of the answer that have a piece, a hole or a cached chunk */
	bool has_late;    /* another request is reading the first chunk, so that chunk is split last */
	struct extent_piece late;
	bool may_hit; /* its chunks may be in the cache; see cached.h */
	bool whole; /* chunks are read whole, because block checksums did not help */
	unsigned piece_count, range_count, page_count;
	unsigned pending; /* device reads in flight, plus one while they are being started */
	size_t scratch_used;
	struct read_range ranges[READ_RANGES];
	struct read_page pages[READ_PAGES];
	struct read_piece pieces[READ_PIECES];
};

static inline bool op_is_unwanted(const struct read_op *op)
{
	return op->request.wanted && atomic_load_explicit(op->request.wanted, memory_order_relaxed) == 0;
}

static inline uint64_t op_bytes(const struct read_fetch *fetch)
{
	uint64_t bytes = 0;

	for (int i = 0; i < fetch->io.iov_count; i++)
		bytes += fetch->io.iov[i].iov_len;
	return bytes;
}

/* Returns one of the pages, or after them of the ranges. */
static inline struct read_fetch *op_fetch(struct read_op *op, unsigned i)
{
	return i < op->page_count ? &op->pages[i].fetch : &op->ranges[i - op->page_count].fetch;
}

/* A file of a cache on this machine needs DIRECT_ALIGN, whatever the members do with. */
static inline uint64_t op_align(const struct read_op *op)
{
	return op->reader->setup.cached ? DIRECT_ALIGN : op->reader->setup.geometry->logical_block;
}

static inline const struct read_piece *op_last(const struct read_op *op, const struct read_range *range)
{
	return &op->pieces[range->first + range->count - 1];
}

/* Returns where the wanted bytes of a raw chunk begin on the member. */
static inline uint64_t op_wanted(const struct read_piece *piece)
{
	return address_offset(piece->part.chunk.address) + piece->part.skip;
}

/* Goes on without a chunk of a list. */
static inline void op_lose(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	op->reader->setup.events->failed(op, chunk, err);
	op->lost += chunk->length;
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
