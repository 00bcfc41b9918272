/* SPDX-License-Identifier: MIT */
/* The block checksum section: which chunk has a row of block checksums, where the row is, and the check of content
 * against it. The head is in memory (a bit for each chunk, 8 bytes for each page); callers bring the pages. The section
 * contains no address, so a copy of its bytes is valid anywhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/source.h"
#include "image/version.h"

struct block_sums;

struct block_sums_row {
	uint64_t page;   /* number */
	uint32_t offset; /* in the page: dsfs_le64 sums, one for each block of the chunk */
};

struct block_sums_layout {
	uint32_t row_bytes;
	uint64_t page_count;
	uint64_t bits, sums;  /* offsets in the head */
	uint64_t head, length; /* bytes of the head and of the section */
};

/* Both counts at most 2^45. */
void block_sums_layout(uint32_t chunk_log, uint64_t chunk_count, uint64_t row_count, struct block_sums_layout *ret);
/* Reads and checks the head of the version's section; *ret is NULL when it has none. */
must_check int block_sums_load(struct source *source, const struct version *version,
			       const struct members *members, struct block_sums **ret,
			       struct error *err);
/* A head of length bytes, which block_sums_close() frees; stays the caller's on failure. */
must_check int block_sums_open(uint8_t *head, uint64_t length, const struct version *version, struct block_sums **ret,
			       struct error *err);
void block_sums_close(struct block_sums *block_sums);

/* The chunk's row; false when it has none. block_sums may be NULL. A row of a chunk that is not raw means nothing. */
bool block_sums_find(const struct block_sums *block_sums, uint64_t chunk, struct block_sums_row *ret);
/* The head as it lies on the volume; it stays the section's. */
const void *block_sums_head(const struct block_sums *block_sums, uint64_t *ret_length);
uint64_t block_sums_page_count(const struct block_sums *block_sums);
uint64_t block_sums_page_sum(const struct block_sums *block_sums, uint64_t page);
/* Device address of a page, which has DSFS_BLOCK bytes. */
uint64_t block_sums_page_address(const struct block_sums *block_sums, uint64_t page);
must_check int block_sums_check_page(const struct block_sums *block_sums, uint64_t page, const void *bytes,
				     struct error *err);
/* Bytes of memory that the head takes; 0 for NULL. */
uint64_t block_sums_memory(const struct block_sums *block_sums);
/* At most so many, before it was loaded. */
uint64_t block_sums_memory_most(const struct version *version);

/* The sums of the blocks of content; returns how many. */
uint32_t block_sums_compute(const void *content, uint32_t length, dsfs_le64 *sums);
/* Blocks, of which only the last may be short, that lie in at most BLOCK_SUMS_PIECES pieces in memory. -EBADMSG when
 * one has another sum. */
#define BLOCK_SUMS_PIECES 4
must_check int block_sums_verify(const dsfs_le64 *sums, const struct iovec *pieces, int count, struct error *err);

/* Rows in about the order of the chunks, for one thread: the page of the last one is kept. */
struct block_sums_view;
must_check int block_sums_view_new(const struct block_sums *block_sums, struct source *source,
				   struct block_sums_view **ret, struct error *err);
void block_sums_view_free(struct block_sums_view *view);
/* 1 and the row (valid until the next call), 0 when the chunk has none, -EBADMSG when its page is damaged, or what the
 * source says. */
must_check int block_sums_view_row(struct block_sums_view *view, uint64_t chunk, const dsfs_le64 **ret,
				   struct error *err);
