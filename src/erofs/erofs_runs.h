/* SPDX-License-Identifier: MIT */
/* A file as runs of blocks: where each lies on the volume, what is a hole, and what an image must hold itself. */
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
	uint64_t where;        /* its block there; of a copy it is set by whoever places it */
};

struct erofs_runs {
	struct erofs_run *list; /* in the order of the file, without gaps */
	size_t count, room;
};

/* Whether a chunk, which is no hole, is on the volume in blocks of its own, of which the last may have something behind
 * the end of the file. -EOPNOTSUPP: it is compressed. */
must_check int erofs_runs_maps(const struct chunk *chunk, bool *ret, struct error *err);
/* end_is_shared: the last block has something behind the end of the file (erofs_ends.h). *ret_is_copied: whether the
 * end is taken over. -EOPNOTSUPP: some of it is compressed. */
must_check int erofs_runs_find(struct erofs_runs *runs, const struct index *index, const struct inode *inode,
			       bool end_is_shared, bool *ret_is_copied, struct error *err);
void erofs_runs_free(struct erofs_runs *runs);
/* log2 of the largest number of blocks of which every run but the last has a multiple, enough for the file at most. */
uint32_t erofs_runs_chunk_log(const struct erofs_runs *runs);
/* The run with a block, at or behind *cursor; moves the cursor there. */
const struct erofs_run *erofs_runs_at(const struct erofs_runs *runs, uint64_t block, size_t *cursor);
