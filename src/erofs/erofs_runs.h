/* SPDX-License-Identifier: MIT */
/* Describes a file as runs of blocks: on the volume, in a hole, or to be copied into the image. */
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
	uint64_t where;        /* block on the member; for a copy, set by the caller that places it */
};

struct erofs_runs {
	struct erofs_run *list; /* in file order, without gaps */
	size_t count, room;
};

/* Tells whether the kernel can map the chunk, which must not be a hole: it begins on a block boundary of the volume
 * and fills at least one block. Other data may follow it in its last block. -EOPNOTSUPP: it is compressed. */
must_check int erofs_runs_maps(const struct chunk *chunk, bool *ret, struct error *err);
/* Finds the runs of a file. end_is_shared: other data follows the file's end in its last block (erofs_ends.h).
 * *ret_is_copied: some content goes into the image. -EOPNOTSUPP: some content is compressed. */
must_check int erofs_runs_find(struct erofs_runs *runs, const struct index *index, const struct inode *inode,
			       bool end_is_shared, bool *ret_is_copied, struct error *err);
void erofs_runs_free(struct erofs_runs *runs);
/* Returns log2 of the largest chunk size, in blocks, that divides every run's start; at most what the file needs. */
uint32_t erofs_runs_chunk_log(const struct erofs_runs *runs);
/* Returns the run that holds the block, which is at *cursor or after it; moves *cursor there. */
const struct erofs_run *erofs_runs_at(const struct erofs_runs *runs, uint64_t block, size_t *cursor);
