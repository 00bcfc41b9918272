/* SPDX-License-Identifier: MIT */
/* Keys of content, made of the sums of its chunks: the index of every version has them, so that content of earlier
 * versions is found without a memory of its own. A key is a hint; what it finds is compared byte by byte. */
#pragma once
#include "content/batch.h"
#include "spill/table.h"

#define KEY_CHUNKS (BATCH_BYTES >> DSFS_CHUNK_LOG_MIN) /* of a file that is shared as a whole */

/* Of a whole file of at most BATCH_BYTES. sum 0: a hole. */
struct table_key key_of_file(uint64_t size, const uint64_t *sums, uint32_t count);
struct table_key key_of_chunk(uint64_t sum, uint32_t length);
