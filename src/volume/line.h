/* SPDX-License-Identifier: MIT */
/* The members of a volume one behind the other, so that a map of blocks or segments is one piece. */
#pragma once
#include "base/source.h"
#include "image/catalogue.h"
#include "volume/bits.h"

struct line {
	uint64_t segment; /* bytes of one; every member begins with one */
	uint32_t count;   /* of members */
	uint64_t *starts; /* where each begins, and where the last one ends */
};

/* As long as the members are now; when one has grown, the others are elsewhere. */
must_check int line_open(struct source *source, const struct catalogue *catalogue, uint64_t segment, struct line *ret,
			 struct error *err);
void line_close(struct line *line); /* a zeroed one as well */
/* Bytes of all. */
uint64_t line_length(const struct line *line);
/* Where an address is. Of none of the members: the end. */
uint64_t line_at(const struct line *line, uint64_t address);
/* The address there, before the end. */
uint64_t line_address(const struct line *line, uint64_t at);

/* For a map with a bit for each unit: of bytes that lie on one member. */
void line_mark(const struct line *line, struct bits *bits, uint64_t unit, uint64_t address, uint64_t length);
bool line_touches(const struct line *line, const struct bits *bits, uint64_t unit, uint64_t address, uint64_t length);
