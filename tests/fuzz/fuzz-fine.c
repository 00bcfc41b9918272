/* SPDX-License-Identifier: MIT */
/* The head of fine sums: every row that it tells of lies inside the section, and no two are one. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "image/fine.h"

static void use_fine(const struct fine *fine, const struct version *version)
{
	uint64_t row_bytes = UINT64_C(8) << (version->chunk_log - DSFS_CHUNK_LOG_MIN), next = 0, at;
	struct fine_row row;

	for (uint64_t chunk = 0; chunk < version->shape.chunk_count + 100; chunk++) {
		if (!fine_find(fine, chunk, &row))
			continue;
		at = row.page * DSFS_BLOCK + row.offset;
		if (chunk >= version->shape.chunk_count || at != next || row.offset + row_bytes > DSFS_BLOCK ||
		    fine_page_address(fine, row.page) + DSFS_BLOCK > version->fine.address + version->fine.length)
			__builtin_trap();
		next += row_bytes;
	}
	if (fine_memory(fine) > fine_memory_most(version))
		__builtin_trap();
}

/* The input: the chunk size's log, the version's chunks and the section's length in blocks, as 32-bit numbers; then
 * the head. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct version version = { .fine.address = DSFS_DATA_AT };
	struct fine *fine;
	uint8_t *head;
	le32 input[3];

	if (length < sizeof(input))
		return 0;
	memcpy(input, bytes, sizeof(input));
	version.chunk_log = DSFS_CHUNK_LOG_MIN + le32_get(input[0]) % (DSFS_CHUNK_LOG_MAX - DSFS_CHUNK_LOG_MIN + 1);
	version.shape.chunk_count = le32_get(input[1]);
	version.fine.length = (uint64_t)le32_get(input[2]) * DSFS_BLOCK;
	length -= sizeof(input);
	head = malloc(length ? length : 1);
	if (!head)
		abort();
	memcpy(head, bytes + sizeof(input), length);
	if (fine_open(head, length, &version, &fine, NULL) < 0) {
		free(head);
		return 0;
	}
	use_fine(fine, &version);
	fine_close(fine);
	return 0;
}
