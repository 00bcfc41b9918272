/* SPDX-License-Identifier: MIT */
/* Makes keys of content from the sums of its chunks. The index of every version has these sums, so no other table has
 * to be stored. A key is a hint: the content that it finds is compared byte by byte. */
#pragma once
#include "content/batch.h"
#include "spill/table.h"

#define KEY_CHUNKS (BATCH_BYTES >> DSFS_CHUNK_LOG_MIN) /* most chunks of a file that is shared as a whole */

/* Returns the key of a whole file of at most BATCH_BYTES. The sum of a hole is 0. */
struct table_key key_of_file(uint64_t size, const uint64_t *sums, uint32_t count);
struct table_key key_of_chunk(const struct sum *sum, uint32_t length);
/* Returns the part of a sum that goes into keys. */
uint64_t key_of_sum(const struct sum *sum);
