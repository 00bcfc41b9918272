/* SPDX-License-Identifier: MIT */
/* Chunks: the record, the part of a request that falls into one, and the check of its content. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "image/codec.h"
#include "image/index.h"
#include "image/inode.h"

struct chunk {
	uint64_t number;  /* in the index's chunk array */
	uint64_t address; /* device address, 0 for a hole */
	uint64_t sum;
	uint32_t stored;  /* bytes on the volume */
	uint32_t length;  /* bytes of content */
	uint8_t codec;    /* DSFS_CODEC_* */
};

/* Chunk number i of the file, checked: address inside its member, lengths possible. */
must_check int chunk_get(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret,
			 struct error *err);
/* The same, and how many chunks from it on are like it: those of a long hole, else 1. *ret has the first one's
 * length. */
must_check int chunk_get_run(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret,
			     uint64_t *ret_count, struct error *err);
/* Bytes of content of so many chunks from the i-th on. */
uint64_t chunk_run_bytes(const struct index *index, const struct inode *inode, uint64_t i, uint64_t count);
/* The record's fields and nothing more: nothing is checked, number and length are 0. */
struct chunk chunk_of_record(const struct dsfs_chunk *disk);
/* Can so many stored bytes be content of the chunk's length? What may be true of no chunk is refused here. */
bool chunk_has_possible_size(const struct chunk *chunk);
bool chunk_is_hole(const struct chunk *chunk);
bool chunk_is_inline(const struct chunk *chunk); /* its bytes lie in the index's blob */
const void *chunk_inline_bytes(const struct index *index, const struct chunk *chunk);

/* Verifies content that lies in pieces in memory. -EBADMSG when its sum is not the chunk's. */
must_check int chunk_verify(const struct chunk *chunk, const struct iovec *pieces, int count,
			    struct error *err);
/* stored bytes → content at out (chunk->length bytes), verified. */
must_check int chunk_decode(const struct chunk *chunk, struct codec *codec, const void *stored, void *out,
			    struct error *err);

void chunk_encode(const struct chunk *chunk, struct dsfs_chunk *disk);
