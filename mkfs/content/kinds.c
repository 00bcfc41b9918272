/* SPDX-License-Identifier: MIT */
/* Verdicts on kinds of files. */
#include "content/kinds.h"

#include <ctype.h>
#include <string.h>

#include "content/pipeline.h"
#include "image/checksum.h"

#define KINDS_EXTENSION_MAX 15u

uint16_t kinds_of(const char *name, size_t length)
{
	const char *dot = memrchr(name, '.', length);
	char extension[KINDS_EXTENSION_MAX];
	size_t used = 0;

	if (dot && dot > name && length - (size_t)(dot + 1 - name) <= sizeof(extension))
		for (const char *c = dot + 1; c < name + length; c++)
			extension[used++] = (char)tolower((unsigned char)*c);
	return (uint16_t)(checksum_64(extension, used) % KINDS_COUNT);
}

bool kinds_wants(struct kinds *kinds, uint16_t kind, uint64_t batch)
{
	uint64_t raw_after = atomic_load(&kinds->entries[kind].raw_after);

	return !raw_after || batch < raw_after - 1 + PIPELINE_DEPTH;
}

void kinds_learn(struct kinds *kinds, uint16_t kind, uint64_t batch, uint64_t content, uint64_t stored)
{
	struct kinds_entry *entry = &kinds->entries[kind];

	if (entry->samples >= KINDS_SAMPLES)
		return;
	entry->content += content;
	entry->stored += stored;
	if (++entry->samples == KINDS_SAMPLES && entry->stored * 10 > entry->content * 9)
		atomic_store(&entry->raw_after, batch + 1);
}
