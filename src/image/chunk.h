/* SPDX-License-Identifier: MIT */
/* Chunks: their records in an index, and the check of their content. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "image/codec.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/sums/sum.h"

struct chunk {
	uint64_t number;  /* in the index's chunk array */
	uint64_t address; /* device address, 0 for a hole */
	struct sum sum;
	uint32_t stored;  /* bytes on the volume */
	uint32_t length;  /* bytes of content */
	uint8_t codec;    /* DSFS_CODEC_* */
};

/* Gets chunk number i of the file, checked: its address is inside its member, its lengths are possible. */
must_check int chunk_get(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret,
			 struct error *err);
/* Gets chunk number i of the file. *ret_count: 1, or in a long hole the number of chunks from this one to its end. *ret
 * has the length of this chunk alone. */
must_check int chunk_get_run(const struct index *index, const struct inode *inode, uint64_t i, struct chunk *ret,
			     uint64_t *ret_count, struct error *err);
/* Returns the bytes of content of count chunks from the i-th on. */
uint64_t chunk_run_bytes(const struct index *index, const struct inode *inode, uint64_t i, uint64_t count);
/* Copies the fields of a record with a sum of this kind, without any check; number and length are 0. */
struct chunk chunk_of_record(uint32_t kind, const struct dsfs_chunk *disk);
/* True if a chunk of this codec and length can have this many stored bytes. */
bool chunk_has_possible_size(const struct chunk *chunk);
bool chunk_is_hole(const struct chunk *chunk);
bool chunk_is_inline(const struct chunk *chunk); /* its bytes lie in the index's blob */
const void *chunk_inline_bytes(const struct index *index, const struct chunk *chunk);

/* Verifies content that lies in pieces in memory. -EBADMSG if its sum is not the chunk's. */
must_check int chunk_verify(const struct chunk *chunk, const struct iovec *pieces, int count,
			    struct error *err);
/* Decodes stored bytes into out (chunk->length bytes) and verifies them. */
must_check int chunk_decode(const struct chunk *chunk, struct codec *codec, const void *stored, void *out,
			    struct error *err);

/* Writes the record, which has as many bytes as index_record_size() says of the kind of its sum. */
void chunk_encode(const struct chunk *chunk, void *record);
