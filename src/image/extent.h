/* SPDX-License-Identifier: MIT */
/* Maps (offset, size) of a file to chunks and device ranges. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/chunk.h"

/* The part of a request that falls into one chunk. */
struct extent_piece {
	struct chunk chunk;
	uint32_t skip; /* bytes of the chunk before the request */
	uint32_t want; /* bytes of the chunk in the request */
};

/* A walk over a request's pieces in file order; the request is clipped at the end of the file. */
struct extent_cursor {
	const struct index *index;
	const struct inode *inode;
	uint64_t offset, end;
};

/* Starts a walk. *ret_size: bytes of the request after clipping (0 at or past the end). */
void extent_map(struct extent_cursor *cursor, const struct index *index, const struct inode *inode,
		uint64_t offset, uint64_t size, uint64_t *ret_size);
/* Returns 1 and a piece, 0 at the end, or a negative errno. */
must_check int extent_next(struct extent_cursor *cursor, struct extent_piece *ret, struct error *err);

/* Finds SEEK_DATA or SEEK_HOLE over chunks. Returns the offset, or -ENXIO. */
int64_t extent_seek(const struct index *index, const struct inode *inode, uint64_t offset, bool hole,
		    struct error *err);
/* Returns st_blocks: the file's bytes without its holes, in units of 512 bytes. */
uint64_t extent_blocks(const struct index *index, const struct inode *inode);
