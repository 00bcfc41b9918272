/* SPDX-License-Identifier: MIT */
/* Owns the line: all members of a volume one behind the other, so that one map has all their blocks or segments. */
#pragma once
#include "base/source.h"
#include "image/catalogue/catalogue.h"
#include "volume/space/bits.h"

struct line {
	uint64_t segment; /* bytes of a segment; every member begins with a whole one */
	uint32_t count;   /* number of members */
	uint64_t *starts; /* where each member begins, and where the last one ends */
};

/* Makes a line with the present sizes of the members; after one has grown, positions behind it are different. */
must_check int line_open(struct source *source, const struct catalogue *catalogue, uint64_t segment, struct line *ret,
			 struct error *err);
void line_close(struct line *line); /* a zeroed line can be closed, too */
/* Returns the bytes of all members. */
uint64_t line_length(const struct line *line);
/* Returns the position of an address; the end, if it is on none of the members. */
uint64_t line_at(const struct line *line, uint64_t address);
/* Returns the address at a position before the end. */
uint64_t line_address(const struct line *line, uint64_t at);

/* Mark or test bytes that lie on one member, in a map with a bit for each unit of the line. */
void line_mark(const struct line *line, struct bits *bits, uint64_t unit, uint64_t address, uint64_t length);
bool line_touches(const struct line *line, const struct bits *bits, uint64_t unit, uint64_t address, uint64_t length);
