/* SPDX-License-Identifier: MIT */
/* Lays out files larger than a batch, which come in pieces and share runs of chunks. */
#pragma once
#include "layout/holes.h"
#include "layout/share.h"
#include "layout/store.h"

#define LARGE_RUN   8u /* the shortest run of chunks that a large file shares */
#define LARGE_PIECE (UINT64_C(1) << 20) /* contiguous bytes on one member */

/* Consecutive chunks that match a run on the volume. */
struct large_run {
	uint64_t first;   /* record of the stored chunk that the first one matches */
	bool from_border; /* the run begins with the file, or after a hole */
	uint32_t length;  /* chunks so far; from LARGE_RUN on they are shared */
	struct batch_chunk held[LARGE_RUN];
	uint8_t *bytes;   /* stored bytes of held chunks */
	uint8_t *block_sums; /* rows of their block checksums */
};

struct large {
	struct records *records;
	struct holes *holes;
	struct store *store;
	struct share *share;
	uint32_t chunk_log;

	/* the current file */
	uint64_t first;                    /* its first record */
	uint64_t where;                    /* value for its inode's where, once the file is complete */
	bool sparse;                       /* it has holes */
	bool reserved;                     /* free space for the whole file was chosen */
	bool dense;                        /* it has a compressed chunk; those after it are not aligned */
	bool at_border;                    /* the next chunk is the first one, or follows a hole */
	uint64_t size, left;               /* bytes in all, and still to come */
	uint64_t piece_left;               /* bytes that still go to the same member */
	uint64_t shared_bytes, hole_bytes; /* so far */
	struct large_run run;
};

/* Opens the layout of large files. Their chunks go through holes and store. */
must_check int large_open(struct large *large, struct holes *holes, struct store *store, struct share *share,
			  struct error *err);
void large_close(struct large *large); /* a zeroed one may be closed, too */
/* Adds a piece of the file. *ret_done: this was the last piece, so where, sparse and the counters are final. */
must_check int large_add_piece(struct large *large, const struct batch *batch, const struct item *item, bool *ret_done,
			       struct error *err);
/* Adds a hole that takes the place of whole pieces. */
must_check int large_skip(struct large *large, const struct item *item, struct error *err);
