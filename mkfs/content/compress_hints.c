/* SPDX-License-Identifier: MIT */
/* Decides from the first files of each kind whether the kind shrinks. */
#include "content/compress_hints.h"

#include <ctype.h>
#include <string.h>

#include "content/pipeline.h"
#include "image/sums/checksum.h"

#define COMPRESS_HINTS_EXTENSION_MAX 15u

uint16_t compress_hints_kind_of(const char *name, size_t length)
{
	const char *dot = memrchr(name, '.', length);
	char extension[COMPRESS_HINTS_EXTENSION_MAX];
	size_t used = 0;

	if (dot && dot > name && length - (size_t)(dot + 1 - name) <= sizeof(extension))
		for (const char *c = dot + 1; c < name + length; c++)
			extension[used++] = (char)tolower((unsigned char)*c);
	return (uint16_t)(checksum_64(extension, used) % COMPRESS_HINTS_KINDS);
}

bool compress_hints_wants(struct compress_hints *hints, uint16_t kind, uint64_t batch)
{
	uint64_t raw_after = atomic_load(&hints->entries[kind].raw_after);

	return !raw_after || batch < raw_after - 1 + PIPELINE_DEPTH;
}

void compress_hints_learn(struct compress_hints *hints, uint16_t kind, uint64_t batch, uint64_t content,
			  uint64_t stored)
{
	struct compress_hints_entry *entry = &hints->entries[kind];

	if (entry->samples >= COMPRESS_HINTS_SAMPLES)
		return;
	entry->content += content;
	entry->stored += stored;
	if (++entry->samples == COMPRESS_HINTS_SAMPLES && entry->stored * 10 > entry->content * 9)
		atomic_store(&entry->raw_after, batch + 1);
}
