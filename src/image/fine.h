/* SPDX-License-Identifier: MIT */
/* The fine section: which chunk has a row of sums of its blocks, and where; rows checked against content.
 * The head is in memory (a bit for each chunk, 8 bytes for each page); pages are brought by who needs them. The section
 * names no place, so a copy of its bytes is as good wherever it lies. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "base/source.h"
#include "image/version.h"

struct fine;

struct fine_row {
	uint64_t page;   /* number */
	uint32_t offset; /* in the page: le64 sums, one for each block of the chunk */
};

struct fine_layout {
	uint32_t row_bytes;
	uint64_t page_count;
	uint64_t bits, sums;  /* offsets in the head */
	uint64_t head, length; /* bytes of the head and of the section */
};

/* Both counts at most 2^45. */
void fine_layout(uint32_t chunk_log, uint64_t chunk_count, uint64_t row_count, struct fine_layout *ret);
/* Reads and checks the head of the version's section; *ret is NULL when it has none. */
must_check int fine_load(struct source *source, const struct version *version, struct fine **ret, struct error *err);
/* A head of length bytes, which fine_close() frees; stays the caller's on failure. */
must_check int fine_open(uint8_t *head, uint64_t length, const struct version *version, struct fine **ret,
			 struct error *err);
void fine_close(struct fine *fine);

/* The chunk's row; false when it has none. fine may be NULL. A row of a chunk that is not raw means nothing. */
bool fine_find(const struct fine *fine, uint64_t chunk, struct fine_row *ret);
/* Device address of a page, which has DSFS_BLOCK bytes. */
uint64_t fine_page_address(const struct fine *fine, uint64_t page);
must_check int fine_check_page(const struct fine *fine, uint64_t page, const void *bytes, struct error *err);
/* Bytes of memory that the head takes; 0 for NULL. */
uint64_t fine_memory(const struct fine *fine);
/* At most so many, before it was loaded. */
uint64_t fine_memory_most(const struct version *version);

/* The sums of the blocks of content; returns how many. */
uint32_t fine_sum(const void *content, uint32_t length, le64 *sums);
/* Blocks, of which only the last may be short, that lie in at most FINE_PIECES pieces in memory. -EBADMSG when one has
 * another sum. */
#define FINE_PIECES 4
must_check int fine_verify(const le64 *sums, const struct iovec *pieces, int count, struct error *err);

/* Rows in about the order of the chunks, for one thread: the page of the last one is kept. */
struct fine_view;
must_check int fine_view_new(const struct fine *fine, struct source *source, struct fine_view **ret, struct error *err);
void fine_view_free(struct fine_view *view);
/* 1 and the row (valid until the next call), 0 when the chunk has none, -EBADMSG when its page is damaged, or what the
 * source says. */
must_check int fine_view_row(struct fine_view *view, uint64_t chunk, const le64 **ret, struct error *err);
