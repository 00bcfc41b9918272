/* SPDX-License-Identifier: MIT */
/* Compares new content with the stored content of a record. */
#include "content/compare.h"

#include <string.h>

int compare_chunk(const struct compare *compare, const struct dsfs_chunk *record,
		  const struct batch_chunk *chunk, struct error *err)
{
	struct chunk found = chunk_of_record(chunk->sum.kind, record);
	const uint8_t *bytes;
	int r;

	if (chunk_is_hole(&found) || chunk->is_hole)
		return chunk_is_hole(&found) && chunk->is_hole;
	found.length = chunk->length;
	if (!sum_is_same(&found.sum, &chunk->sum) || !chunk_has_possible_size(&found))
		return 0;
	r = compare->view(compare->argument, &found, &bytes, err);
	if (r < 0)
		return error_is_damage(r) ? 0 : r;
	if (found.codec != DSFS_CODEC_RAW) {
		if (codec_decompress(compare->codec, bytes, found.stored, compare->decoded, found.length,
				     NULL) < 0)
			return 0; /* another length */
		bytes = compare->decoded;
	}
	return memcmp(bytes, chunk->content, chunk->length) == 0;
}
