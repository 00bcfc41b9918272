/* SPDX-License-Identifier: MIT */
/* Collects the block checksums of the new version: rows go to a temporary file, page by page. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "spill/mapped.h"

struct sums {
	struct temp_stream stream; /* rows; a full buffer holds whole pages */
	uint32_t kind;         /* DSFS_SUM_* */
	uint32_t chunk_log, row_bytes;
	uint64_t rows;
	struct mapped bits, pages; /* parts of the head: which chunks have rows, sums of pages */
};

must_check int sums_open(struct sums *sums, const struct temp *temp, uint32_t chunk_log, uint32_t kind,
			 struct error *err);
void sums_close(struct sums *sums); /* a zeroed one may be closed, too */
/* Adds the row of a chunk. bytes: the length of the row, which zeros fill up. Call it for chunks in ascending order. */
must_check int sums_add(struct sums *sums, uint64_t chunk, const uint8_t *row, uint32_t bytes, struct error *err);
/* Access to rows by chunk, once all rows were added. */
struct sums_reader {
	struct sums *sums;
	uint64_t *ranks; /* rows before each SUMS_STRIDE-th chunk */
};

must_check int sums_reader_open(struct sums_reader *reader, struct sums *sums, struct error *err);
void sums_reader_close(struct sums_reader *reader); /* a zeroed one may be closed, too */
/* Reads the row of the chunk, sums->row_bytes long. *ret_has: it has one. */
must_check int sums_reader_get(const struct sums_reader *reader, uint64_t chunk, uint8_t *row, bool *ret_has,
			       struct error *err);
/* Builds the head for chunk_count chunks, after the last row. The caller frees *ret_head; the rest of the *ret_length
 * bytes are in stream.fd. *ret_length is 0 if there are no rows. */
must_check int sums_end(struct sums *sums, uint64_t chunk_count, uint8_t **ret_head, uint64_t *ret_head_length,
			uint64_t *ret_length, struct error *err);
