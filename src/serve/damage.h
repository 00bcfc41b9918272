/* SPDX-License-Identifier: MIT */
/* Places of the volume that reads found damaged: each once, the first ones. Any thread. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "image/chunk.h"
#include "read/reader.h"
#include "serve/version/generation.h"

#define DAMAGE_MAX 4096u /* places; further ones are counted */

struct damage;

must_check int damage_new(struct damage **ret, struct error *err);
void damage_free(struct damage *damage);
/* generation: whose file was read. Of a version that is not on the volume any more nothing is listed: its space belongs
 * to others. */
void damage_add(struct damage *damage, const struct reader_place *place, const struct generation *generation,
		const struct error *why);
/* Takes the places of such a version from the list, once its fate is known. */
void damage_forget(struct damage *damage, const struct generation *generation);

struct damage_place {
	uint32_t member;
	uint64_t offset;
	struct chunk chunk; /* what must lie there: a page of block checksums is like a chunk that is not compressed */
};
/* The place with this number, counted round; false: none is listed. */
bool damage_get(struct damage *damage, uint32_t number, struct damage_place *ret);
/* It is right by now. */
void damage_drop(struct damage *damage, const struct damage_place *place);
/* Places that are listed. */
uint64_t damage_count(struct damage *damage);
/* A line for each, see DSFS_CONTROL_DAMAGE. */
void damage_write(struct damage *damage, FILE *out);
