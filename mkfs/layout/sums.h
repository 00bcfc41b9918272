/* SPDX-License-Identifier: MIT */
/* Collects the block checksums of the new version: rows go to a temporary file, page by page. */
#pragma once
#include "image/catalogue.h"
#include "spill/mapped.h"

struct sums {
	struct temp_stream stream; /* of rows; a full buffer holds whole pages */
	uint32_t chunk_log, row_bytes;
	uint64_t rows;
	struct mapped bits, pages; /* of the head */
};

must_check int sums_open(struct sums *sums, const struct temp *temp, uint32_t chunk_log, struct error *err);
void sums_close(struct sums *sums); /* a zeroed one as well */
/* Adds the row of a chunk. Chunks come in ascending order. */
must_check int sums_add(struct sums *sums, uint64_t chunk, const dsfs_le64 *row, uint32_t count, struct error *err);
/* Reads rows once all are there. */
struct sums_reader {
	struct sums *sums;
	uint64_t *ranks; /* rows before each SUMS_STRIDE-th chunk */
};

must_check int sums_reader_open(struct sums_reader *reader, struct sums *sums, struct error *err);
void sums_reader_close(struct sums_reader *reader); /* a zeroed one as well */
/* The row of the chunk, which takes sums->row_bytes, if it has one. */
must_check int sums_reader_get(const struct sums_reader *reader, uint64_t chunk, dsfs_le64 *row, bool *ret_has,
			       struct error *err);
/* After the last row. *ret_head, which the caller frees, is the head for chunk_count chunks; the rest of the
 * *ret_length bytes are in stream.fd. *ret_length is 0 if there are no rows. */
must_check int sums_end(struct sums *sums, uint64_t chunk_count, uint8_t **ret_head, uint64_t *ret_head_length,
			uint64_t *ret_length, struct error *err);
