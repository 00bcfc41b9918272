/* SPDX-License-Identifier: MIT */
/* A tiny packer of block checksums for tests. */
#include "lib/rows.h"

#include <stdlib.h>

#include "image/catalogue/block_sums.h"
#include "image/sums/checksum.h"
#include "image/sums/sha256.h"
#include "lib/check.h"

void rows_sign(struct version *version, const uint8_t *section, uint64_t head_length)
{
	CHECK_OK(sha256_of(section, head_length, version->block_sums.sha256, &err));
}

uint8_t *rows_section(struct version *version, uint64_t address, const struct rows_chunk *chunks, unsigned count)
{
	struct dsfs_fine disk = { .chunk_count = dsfs_le64_of(version->shape.chunk_count),
				  .row_count = dsfs_le64_of(count) };
	struct block_sums_layout layout;
	uint8_t *bytes, *pages;
	dsfs_le64 *sums;

	block_sums_layout(version->shape.chunk_sum, version->chunk_log, version->shape.chunk_count, count, &layout);
	bytes = calloc(1, layout.length);
	assert_non_null(bytes);
	memcpy(disk.magic, DSFS_FINE_MAGIC, sizeof(disk.magic));
	memcpy(bytes, &disk, sizeof(disk));
	sums = (dsfs_le64 *)(bytes + layout.sums);
	pages = bytes + layout.head;
	for (unsigned i = 0; i < count; i++) {
		bytes[layout.bits + chunks[i].number / 8] |= (uint8_t)(1u << (chunks[i].number % 8));
		(void)sum_of_each(version->shape.chunk_sum, chunks[i].content, chunks[i].length,
				  pages + (uint64_t)i * layout.row_bytes);
	}
	for (uint64_t page = 0; page < layout.page_count; page++)
		sums[page] = dsfs_le64_of(checksum_64(pages + page * DSFS_BLOCK, DSFS_BLOCK));
	extent_list_free(&version->block_sums.extents);
	version->block_sums.length = layout.length;
	CHECK_OK(extent_list_add(&version->block_sums.extents, address, layout.length, &err));
	rows_sign(version, bytes, layout.head);
	return bytes;
}
