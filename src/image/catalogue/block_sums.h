/* SPDX-License-Identifier: MIT */
/* The block checksum section: tells which chunks have a row of block checksums and where, and checks content against
 * it. The head is in memory (a bit for each chunk, 8 bytes for each page); callers read the pages. The section contains
 * no address, so a copy of its bytes is valid anywhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/source.h"
#include "image/catalogue/version.h"
#include "image/members/backing.h"
#include "image/sums/sum.h"

struct block_sums;

struct block_sums_row {
	uint64_t page;   /* number */
	uint32_t offset; /* in the page: sums, one for each block of the chunk */
};

struct block_sums_layout {
	uint32_t row_bytes;
	uint64_t page_count;
	uint64_t bits, sums;  /* offsets in the head */
	uint64_t head, length; /* bytes of the head and of the section */
};

/* Computes the layout for sums of this kind. Both counts must be at most 2^45. */
void block_sums_layout(uint32_t kind, uint32_t chunk_log, uint64_t chunk_count, uint64_t row_count,
		       struct block_sums_layout *ret);
/* Reads and checks the head of the version's section; *ret is NULL if it has none. */
must_check int block_sums_load(struct backing backing, const struct version *version, struct block_sums **ret,
			       struct error *err);
/* The same from a copy of the head, which begins at this offset of another file, of a version that has the section. */
must_check int block_sums_load_copy(struct source *copy, uint64_t at, const struct version *version,
				    struct block_sums **ret, struct error *err);
/* Opens a head of length bytes. block_sums_close() frees it; on failure it stays the caller's. */
must_check int block_sums_open(uint8_t *head, uint64_t length, const struct version *version, struct block_sums **ret,
			       struct error *err);
void block_sums_close(struct block_sums *block_sums);

/* Finds the chunk's row; false: there is none. block_sums may be NULL. The row of a chunk that is not stored raw must
 * be ignored; sum_check_blocks() checks blocks against it. */
bool block_sums_find(const struct block_sums *block_sums, uint64_t chunk, struct block_sums_row *ret);
/* Returns the head as it is on the volume; block_sums still owns it. */
const void *block_sums_head(const struct block_sums *block_sums, uint64_t *ret_length);
uint64_t block_sums_page_count(const struct block_sums *block_sums);
struct sum block_sums_page_sum(const struct block_sums *block_sums, uint64_t page);
/* Returns the device address of a page, which has DSFS_BLOCK bytes. */
uint64_t block_sums_page_address(const struct block_sums *block_sums, uint64_t page);
must_check int block_sums_check_page(const struct block_sums *block_sums, uint64_t page, const void *bytes,
				     struct error *err);
/* Returns the bytes of memory that the head takes; 0 for NULL. */
uint64_t block_sums_memory(const struct block_sums *block_sums);
/* Returns an upper bound of block_sums_memory(), before the section is loaded. */
uint64_t block_sums_memory_most(const struct version *version);

/* Reads rows for one thread. It keeps only the last page, so chunks should be asked for in about ascending order. */
struct block_sums_view;
must_check int block_sums_view_new(const struct block_sums *block_sums, struct source *source,
				   struct block_sums_view **ret, struct error *err);
void block_sums_view_free(struct block_sums_view *view);
/* Returns 1 and the row (valid until the next call), 0 if the chunk has none, -EBADMSG if its page is damaged, or the
 * source's error. */
must_check int block_sums_view_row(struct block_sums_view *view, uint64_t chunk, const uint8_t **ret,
				   struct error *err);
