/* SPDX-License-Identifier: MIT */
/* A file as runs of blocks: on the volume, in a hole, or to be copied into the image. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/chunk.h"

enum erofs_run_kind { EROFS_RUN_VOLUME, EROFS_RUN_HOLE, EROFS_RUN_COPY };

struct erofs_run {
	enum erofs_run_kind kind;
	uint64_t block, count; /* of the file */
	uint32_t member;       /* of the volume */
	uint64_t where;        /* its block there; for a copy, whoever places it sets this */
};

struct erofs_runs {
	struct erofs_run *list; /* in the order of the file, without gaps */
	size_t count, room;
};

/* Whether the kernel can map the chunk, which must not be a hole: it begins on a block boundary of the volume and fills
 * a block or more. Something else may follow it in its last block. -EOPNOTSUPP: it is compressed. */
must_check int erofs_runs_maps(const struct chunk *chunk, bool *ret, struct error *err);
/* end_is_shared: something else follows the end of the file in its last block (erofs_ends.h). *ret_is_copied: whether
 * some of its content goes into the image. -EOPNOTSUPP: some content is compressed. */
must_check int erofs_runs_find(struct erofs_runs *runs, const struct index *index, const struct inode *inode,
			       bool end_is_shared, bool *ret_is_copied, struct error *err);
void erofs_runs_free(struct erofs_runs *runs);
/* log2 of the largest chunk size, in blocks, on which every run of the file begins; no larger than the file needs. */
uint32_t erofs_runs_chunk_log(const struct erofs_runs *runs);
/* The run that holds the block, at *cursor or after it; moves *cursor there. */
const struct erofs_run *erofs_runs_at(const struct erofs_runs *runs, uint64_t block, size_t *cursor);
