/* SPDX-License-Identifier: MIT */
/* Adds up the sizes of members. */
#include "volume/space/line.h"

#include <errno.h>
#include <stdlib.h>

#include "base/round.h"
#include "image/members/address.h"

/* Returns the size of a member; of a missing one, the size in the table. */
static uint64_t line_member(struct source *source, const struct members *members, uint32_t number)
{
	uint64_t size = source_size(source, number), known = members_size(members, number);

	return size < known ? known : size;
}

int line_open(struct source *source, const struct catalogue *catalogue, uint64_t segment, struct line *ret,
	      struct error *err)
{
	const struct members *members = &catalogue->members;
	struct line line = { .segment = segment, .count = members->count ? members->count : 1 };

	line.starts = calloc(line.count + 1, sizeof(*line.starts));
	if (!line.starts)
		return error_no_memory(err);
	for (uint32_t i = 0; i < line.count; i++)
		line.starts[i + 1] = line.starts[i] + round_up(line_member(source, members, i), segment);
	*ret = line;
	return 0;
}

void line_close(struct line *line)
{
	free(line->starts);
	*line = (struct line){ 0 };
}

uint64_t line_length(const struct line *line)
{
	return line->starts[line->count];
}

uint64_t line_at(const struct line *line, uint64_t address)
{
	uint32_t member = address_member(address);

	return member < line->count ? line->starts[member] + address_offset(address) : line_length(line);
}

uint64_t line_address(const struct line *line, uint64_t at)
{
	uint32_t member = 0;

	while (member + 1 < line->count && line->starts[member + 1] <= at)
		member++;
	return address_make(member, at - line->starts[member]);
}

static uint64_t line_units(uint64_t first, uint64_t unit, uint64_t length)
{
	return (first + length - 1) / unit - first / unit + 1;
}

void line_mark(const struct line *line, struct bits *bits, uint64_t unit, uint64_t address, uint64_t length)
{
	uint64_t at = line_at(line, address);

	if (length)
		bits_set(bits, at / unit, line_units(at, unit, length));
}

bool line_touches(const struct line *line, const struct bits *bits, uint64_t unit, uint64_t address, uint64_t length)
{
	uint64_t at = line_at(line, address);

	return length && bits_any(bits, at / unit, line_units(at, unit, length));
}
