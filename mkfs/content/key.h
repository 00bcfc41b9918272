/* SPDX-License-Identifier: MIT */
/* Keys of content, made of the sums of its chunks. The index of every version has these sums, so no other table has
 * to be stored. A key is a hint; what it finds is compared byte by byte. */
#pragma once
#include "content/batch.h"
#include "spill/table.h"

#define KEY_CHUNKS (BATCH_BYTES >> DSFS_CHUNK_LOG_MIN) /* at most in a file that is shared as a whole */

/* Of a whole file of at most BATCH_BYTES. The sum of a hole is 0. */
struct table_key key_of_file(uint64_t size, const uint64_t *sums, uint32_t count);
struct table_key key_of_chunk(uint64_t sum, uint32_t length);
