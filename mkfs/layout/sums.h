/* SPDX-License-Identifier: MIT */
/* The fine sums of a version while it is packed: rows go to a temporary file, page by page. */
#pragma once
#include "image/catalogue.h"
#include "spill/mapped.h"

struct sums {
	struct temp_stream stream; /* of rows; a full buffer is whole pages */
	uint32_t chunk_log, row_bytes;
	uint64_t rows;
	struct mapped bits, pages; /* of the head */
};

must_check int sums_open(struct sums *sums, const struct temp *temp, uint32_t chunk_log, struct error *err);
void sums_close(struct sums *sums); /* a zeroed one as well */
/* The row of a chunk, whose number is above those before. */
must_check int sums_add(struct sums *sums, uint64_t chunk, const le64 *row, uint32_t count, struct error *err);
/* After the last: the head (free() it) for so many chunks, its length, and the length of the section, which goes on with
 * the bytes of stream.fd. Length 0: there are no rows. */
must_check int sums_end(struct sums *sums, uint64_t chunk_count, uint8_t **ret_head, uint64_t *ret_head_length,
			uint64_t *ret_length, struct error *err);
