/* SPDX-License-Identifier: MIT */
/* Files larger than a batch: they come in pieces and share runs of chunks. */
#pragma once
#include "layout/holes.h"
#include "layout/share.h"
#include "layout/store.h"

#define LARGE_RUN 8u /* chunks that a large file shares at least */

/* Chunks that match a run on the volume which is still too short to be shared. */
struct large_run {
	uint64_t first;   /* record of the first chunk they match */
	bool from_border; /* begins with the file, or behind a hole */
	uint32_t length;  /* chunks matched so far; beyond LARGE_RUN they are shared at once */
	struct batch_chunk held[LARGE_RUN];
	uint8_t *bytes; /* theirs, to be stored should the run stay short */
	le64 *fine;     /* and the sums of their blocks */
};

struct large {
	struct records *records;
	struct holes *holes;
	struct store *store;
	struct share *share;
	uint32_t chunk_log;

	/* the file whose pieces are coming */
	uint64_t first;                    /* its first record */
	uint64_t where;                    /* at its end: where its records are, as its inode says it */
	bool sparse;                       /* it has holes */
	bool reserved;                     /* the free space that its chunks prefer was chosen */
	bool dense;                        /* some chunk was a frame: those behind it are not aligned */
	bool at_border;                    /* its begin, or a hole, comes right before the next chunk */
	uint64_t size, left;               /* bytes in all and still to come */
	uint64_t shared_bytes, hole_bytes; /* so far */
	struct large_run run;
};

must_check int large_open(struct large *large, struct records *records, struct holes *holes, struct store *store,
			  struct share *share, uint32_t chunk_log, struct error *err);
void large_close(struct large *large); /* a zeroed one as well */
/* A piece of the file; *ret_done when it was the last. Then where, sparse and the counters are the file's. */
must_check int large_add_piece(struct large *large, const struct batch *batch, const struct item *item, bool *ret_done,
			       struct error *err);
/* Pieces between two others, all of them a hole. */
must_check int large_skip(struct large *large, const struct item *item, struct error *err);
