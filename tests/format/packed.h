/* SPDX-License-Identifier: MIT */
/* A small volume in memory, of one member or several, and what was packed into its current version, for tests that
 * damage it byte by byte. */
#pragma once
#include "image/catalogue/version.h"
#include "image/chunk.h"
#include "image/codec.h"
#include "image/index.h"
#include "lib/multi_member.h"

/* Content of a chunk of the undamaged volume. */
struct original {
	uint64_t ordinal, number;
	uint64_t from, to; /* its bytes on the volume; equal when it has none */
	uint32_t length;
	uint8_t *content;
};

struct packed {
	struct multi_member all; /* its members */
	struct memory *memory;   /* the first one, for tests of a volume of one */
	struct codec *codec;
	struct original *originals;
	size_t count, room;
	uint8_t digest[32];
	uint8_t volume[16];     /* UUID */
	struct version version; /* the one that was opened last */
};

/* Says what is wrong and ends the process. */
_Noreturn void packed_die(const char *what);
/* Loads the volume, "A" or "A,B,C", and remembers all content of its current version. Dies if anything fails. */
void packed_load(struct packed *packed, const char *volume);
/* Returns a copy of a member's bytes, for free(3). Dies if there is no memory. */
uint8_t *packed_copy(const struct packed *packed, uint32_t member);
void packed_free(struct packed *packed);
/* Opens the current version of what is in memory now, and puts its record into packed->version. */
must_check int packed_open(struct packed *packed, struct index **ret, struct error *err);
/* Reads the chunk's content into out, as a reader would. */
must_check int packed_read_chunk(struct packed *packed, struct index *index, const struct chunk *chunk, uint8_t *out,
				 struct error *err);
