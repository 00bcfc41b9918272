/* SPDX-License-Identifier: MIT */
/* The list of places on the volume that reads found damaged: each place once, the first DAMAGE_MAX of them. Any thread
 * may call these functions. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "image/chunk.h"
#include "read/reader.h"
#include "serve/version/generation.h"

#define DAMAGE_MAX 4096u /* limit of listed places; further finds are only counted */

struct damage;

must_check int damage_new(struct damage **ret, struct error *err);
void damage_free(struct damage *damage);
/* Lists a place that a read of the generation found damaged, and why. Nothing is listed if that version is no longer on
 * the volume, as its space may have been reused. */
void damage_add(struct damage *damage, const struct reader_place *place, const struct generation *generation,
		const struct error *why);
/* Removes all places that reads of this generation listed: the version turned out to be gone from the volume. */
void damage_forget(struct damage *damage, const struct generation *generation);

struct damage_place {
	uint32_t member;
	uint64_t offset;
	struct chunk chunk; /* the expected content; a page of block checksums is described as an uncompressed chunk */
};
/* Copies the place at index `number` modulo the length of the list. False: the list is empty. */
bool damage_get(struct damage *damage, uint32_t number, struct damage_place *ret);
/* Removes a place that was read again and is no longer damaged. */
void damage_drop(struct damage *damage, const struct damage_place *place);
/* The number of places in the list. */
uint64_t damage_count(struct damage *damage);
/* Writes a line for each place, in the format of DSFS_CONTROL_DAMAGE. */
void damage_write(struct damage *damage, FILE *out);
