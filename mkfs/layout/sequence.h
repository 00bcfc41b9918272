/* SPDX-License-Identifier: MIT */
/* Takes batches in order and decides where everything goes; the only one who does, so that the result does not depend
 * on threads. */
#pragma once
#include "content/batch.h"
#include "content/kinds.h"
#include "content/known.h"
#include "content/trust.h"
#include "image/codec.h"
#include "image/fine.h"
#include "layout/holes.h"
#include "layout/sums.h"
#include "output/writer.h"
#include "spill/mapped.h"
#include "spill/table.h"

#define SEQUENCE_INLINE_MAX   128u         /* files up to this go into the index */
#define SEQUENCE_INLINE_TOTAL (64u << 20)  /* while there are no more bytes of them */
#define SEQUENCE_RUN          8u           /* chunks that a large file shares at least */

struct sequence_counts {
	uint64_t files, directories, symlinks, links, clamped;
	uint64_t content_bytes, shared_bytes, hole_bytes, read_bytes;
	uint64_t unchanged; /* files that were not opened */
};

/* Chunks of a large file that match a run on the volume which is still too short to be shared. */
struct sequence_run {
	uint64_t first;  /* record of the first chunk they match */
	bool from_border; /* begins with the file, or behind a hole */
	uint32_t length; /* chunks matched so far; beyond SEQUENCE_RUN they are shared at once */
	struct batch_chunk held[SEQUENCE_RUN];
	uint8_t *bytes; /* theirs, to be stored should the run stay short */
	le64 *fine;     /* and the sums of their blocks */
};

struct sequence {
	struct writer *writer;
	struct space *space;
	struct codec *codec;
	struct kinds *kinds; /* NULL unless compression is automatic */
	struct progress *progress;
	const struct known *known; /* NULL on a new volume */
	const struct trust *trust; /* NULL: no file is unchanged */
	struct fine_view *rows;    /* of the trusted version's fine sums; NULL as well */
	bool rows_missed;          /* some could not be read, which was said */
	uint32_t chunk_log;
	bool has_frames; /* some chunk was stored compressed */

	struct mapped inodes, chunks, classes, blob;
	struct sums sums;     /* of the blocks of raw chunks */
	struct mapped memory; /* le64: inode number in the source, 0 for what is not remembered */
	struct mapped changes; /* le64: the inode's time of change, the same; without it a file is never trusted */
	bool remember;
	int64_t settled; /* what changed before this time cannot change again and keep its time */
	uint64_t remember_device; /* of the first file; 0: not known yet */
	struct table files;      /* content of a whole file → its first chunk */
	struct table pieces;     /* content of a chunk of a large file → the chunk */
	struct table class_keys; /* attributes and xattrs → class */
	uint64_t inline_bytes;
	uint8_t *decoded; /* a chunk */

	/* the large file whose pieces are coming */
	uint64_t large_first; /* its first record */
	uint64_t large_where; /* at its end: where its records are, as its inode says it */
	bool large_sparse, large_placed, large_dense, large_border;
	uint64_t large_size, large_left; /* bytes in all and still to come */
	struct sequence_run run;
	struct holes holes;

	struct sequence_counts counts;
};

must_check int sequence_open(struct sequence *sequence, const struct temp *temp, uint32_t chunk_log,
			     struct error *err);
void sequence_close(struct sequence *sequence); /* a zeroed one as well */
must_check int sequence_batch(struct sequence *sequence, const struct batch *batch, struct error *err);
/* No batch comes any more: lets go of what finds equal content. */
void sequence_end(struct sequence *sequence);
uint64_t sequence_chunk_count(const struct sequence *sequence);
