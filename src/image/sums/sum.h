/* SPDX-License-Identifier: MIT */
/* The kinds of sums that a version may have, and sums of content by kind. README.md says which changes they detect. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "datasetfs/format.h"

/* --- kinds: DSFS_SUM_* --- */

/* Whether this release knows the kind. */
bool sum_is_known(uint32_t kind);
/* Returns the name of a kind, as in options and dumps, or "unknown". */
const char *sum_name(uint32_t kind);
/* Finds the kind with this name. -EINVAL: there is none, and the reason lists the names. */
must_check int sum_find(const char *name, uint32_t *ret, struct error *err);
/* -EOPNOTSUPP: this release does not know the kind, which the version with this label has. */
must_check int sum_check_kind(uint32_t kind, const char *label, struct error *err);
/* Returns the bytes of a sum; 0: this release does not know the kind. */
uint32_t sum_size(uint32_t kind);
/* Returns the bytes of the blocks that have sums of their own. The kind must be known, as for all that follows. */
uint32_t sum_block(uint32_t kind);
uint32_t sum_block_count(uint32_t kind, uint64_t length);
/* Returns the bytes of the sums of all blocks of content. */
uint32_t sum_blocks_size(uint32_t kind, uint64_t length);

/* --- sums --- */

/* A sum as it lies on the volume, with zeros behind it. */
struct sum {
	uint8_t bytes[DSFS_SUM_MAX];
	uint8_t kind; /* DSFS_SUM_* */
};

#define SUM_PIECES 4 /* most pieces of content that lies apart in memory */
/* Computes the sum of at most 2^DSFS_CHUNK_LOG_MAX bytes. */
struct sum sum_of(uint32_t kind, const void *content, size_t length);
struct sum sum_of_pieces(uint32_t kind, const struct iovec *pieces, int count);
/* Computes the sum as well as those of the blocks, which go to blocks one behind the other. */
struct sum sum_of_each(uint32_t kind, const void *content, size_t length, void *blocks);
/* Checks consecutive blocks of content, from number first on, that lie in pieces. blocks: the sums of all blocks of the
 * content; sum and length: the content's. -EBADMSG: they are wrong. With XXH3-64 it looks only at the sums of these
 * blocks. */
must_check int sum_check_blocks(const struct sum *sum, uint64_t length, const void *blocks, uint32_t first,
				const struct iovec *pieces, int count, struct error *err);
/* Takes the sum from where it lies on the volume. */
struct sum sum_at(uint32_t kind, const void *bytes);
bool sum_is_same(const struct sum *a, const struct sum *b);
int sum_compare(const struct sum *a, const struct sum *b); /* by kind, then by bytes */

#define SUM_TEXT_SIZE (2 * DSFS_SUM_MAX + 1)
/* Writes the sum as hexadecimal digits and returns text. XXH3-64 is a number, with the highest digit first. */
const char *sum_text(const struct sum *sum, char text[SUM_TEXT_SIZE]);
