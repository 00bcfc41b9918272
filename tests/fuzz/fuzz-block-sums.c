/* SPDX-License-Identifier: MIT */
/* The head of block checksums: every row that it tells of lies inside the section, and no two are one. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "image/catalogue/block_sums.h"

static void use_block_sums(const struct block_sums *block_sums, const struct version *version)
{
	uint64_t row_bytes = sum_blocks_size(version->shape.chunk_sum, UINT64_C(1) << version->chunk_log), next = 0, at;
	struct block_sums_row row;

	for (uint64_t chunk = 0; chunk < version->shape.chunk_count + 100; chunk++) {
		if (!block_sums_find(block_sums, chunk, &row))
			continue;
		at = row.page * DSFS_BLOCK + row.offset;
		if (chunk >= version->shape.chunk_count || at != next || row.offset + row_bytes > DSFS_BLOCK ||
		    block_sums_page_address(block_sums, row.page) + DSFS_BLOCK >
			    DSFS_DATA_AT + version->block_sums.length)
			__builtin_trap();
		next += row_bytes;
	}
	if (block_sums_memory(block_sums) > block_sums_memory_most(version))
		__builtin_trap();
}

/* The input: the chunk size's log with the kind of sums, the version's chunks and the section's length in blocks, as
 * 32-bit numbers; then the head. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct extent extent = { .address = DSFS_DATA_AT };
	struct version version = { .block_sums.extents = { &extent, 1 } };
	struct block_sums *block_sums;
	uint8_t *head;
	dsfs_le32 input[3];

	if (length < sizeof(input))
		return 0;
	memcpy(input, bytes, sizeof(input));
	version.chunk_log = DSFS_CHUNK_LOG_MIN +
			    dsfs_le32_get(input[0]) % (DSFS_CHUNK_LOG_MAX - DSFS_CHUNK_LOG_MIN + 1);
	version.shape.chunk_sum = dsfs_le32_get(input[0]) & FUZZ_IS_SHA256 ? DSFS_SUM_SHA256 : DSFS_SUM_XXH3_64;
	version.shape.chunk_count = dsfs_le32_get(input[1]);
	version.block_sums.length = extent.length = (uint64_t)dsfs_le32_get(input[2]) * DSFS_BLOCK;
	length -= sizeof(input);
	head = malloc(length ? length : 1);
	if (!head)
		abort();
	memcpy(head, bytes + sizeof(input), length);
	if (block_sums_open(head, length, &version, &block_sums, NULL) < 0) {
		free(head);
		return 0;
	}
	use_block_sums(block_sums, &version);
	block_sums_close(block_sums);
	return 0;
}
