/* SPDX-License-Identifier: MIT */
/* Avoids each member altogether, in case it lost bytes in many places. If copies differ in a few places only, tries
 * these one by one, whichever member is wrong. */
#include "image/catalogue/sections.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "image/members/address.h"
#include "image/sums/sha256.h"

#define SECTIONS_STEP   (UINT64_C(4) << 20)
#define SECTIONS_NOBODY UINT32_MAX
#define SECTIONS_PLACES 10u                   /* differing places that are tried in all combinations, at most */
#define SECTIONS_WORK   (UINT64_C(16) << 30)  /* bytes hashed for these combinations, at most */

/* Reads from the first readable copy that is not on the avoided member, or else from one that is. */
static int sections_read_step(const struct sections_query *query, uint64_t address, uint32_t avoided, uint8_t *to,
			      uint64_t length, struct error *err)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = backing_copies(query->backing, address, copies);
	int r = -ENODEV;

	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t i = 0; r < 0 && i < count; i++)
			if ((address_member(copies[i]) == avoided) == turn)
				r = source_read(query->backing.source, address_member(copies[i]),
						address_offset(copies[i]), to, length, err);
	return r;
}

/* Hashes each step while it is in the CPU's caches. */
static int sections_read_all(const struct sections_query *query, uint32_t avoided, uint8_t *to, struct sha256 *sha,
			     struct error *err)
{
	struct extent_list_walk walk = { 0 };
	int r = 0;

	while (r == 0 && extent_list_next(query->extents, query->length, SECTIONS_STEP, &walk)) {
		r = sections_read_step(query, walk.step.address, avoided, to + walk.at, walk.step.length, err);
		if (r == 0)
			sha256_add(sha, to + walk.at, walk.step.length);
	}
	return r;
}

static int sections_try(const struct sections_query *query, uint32_t avoided, uint8_t *to, struct error *err)
{
	struct sha256 *sha = sha256_new();
	uint8_t found[SHA256_SIZE];
	int r = sha ? 0 : error_no_memory(err);

	if (r == 0)
		r = sections_read_all(query, avoided, to, sha, err);
	if (r == 0)
		r = sha256_end(sha, found, err);
	sha256_free(sha);
	if (r == 0 && memcmp(found, query->sha256, sizeof(found)) != 0)
		r = -EBADMSG;
	return r;
}

/* --- combinations --- */

struct sections_place {
	uint64_t at;              /* in the section */
	uint32_t length;
	uint32_t count, turn;     /* entries of bytes, and the one in place now */
	uint8_t bytes[DSFS_COPIES_MAX][DSFS_BLOCK];
};

struct sections_places {
	struct sections_place items[SECTIONS_PLACES];
	uint32_t count;
	bool are_too_many;
};

/* Collects the copies of a block that can be read and differ. */
static void sections_look(const struct sections_query *query, const struct extent_list_walk *walk,
			  struct sections_places *places)
{
	uint64_t copies[DSFS_COPIES_MAX], length = walk->step.length;
	uint32_t count = backing_copies(query->backing, walk->step.address, copies);
	struct sections_place place = { .at = walk->at, .length = (uint32_t)length };

	for (uint32_t i = 0; i < count; i++) {
		bool is_new = source_read(query->backing.source, address_member(copies[i]), address_offset(copies[i]),
					  place.bytes[place.count], length, NULL) == 0;

		for (uint32_t k = 0; is_new && k < place.count; k++)
			is_new = memcmp(place.bytes[k], place.bytes[place.count], length) != 0;
		place.count += is_new;
	}
	if (place.count < 2)
		return;
	if (places->count < SECTIONS_PLACES)
		places->items[places->count++] = place;
	else
		places->are_too_many = true;
}

static void sections_find_places(const struct sections_query *query, struct sections_places *places)
{
	struct extent_list_walk walk = { 0 };

	while (!places->are_too_many && extent_list_next(query->extents, query->length, DSFS_BLOCK, &walk))
		sections_look(query, &walk, places);
}

static bool sections_are_many(const struct sections_query *query, const struct sections_places *places)
{
	uint64_t combinations = 1;

	for (uint32_t i = 0; i < places->count; i++)
		combinations *= places->items[i].count;
	return places->are_too_many || !places->count || combinations > SECTIONS_WORK / query->length + 1;
}

/* Counts up to the next combination, with each place as a digit. False: all were tried. */
static bool sections_next(struct sections_places *places, uint8_t *to)
{
	for (uint32_t i = 0; i < places->count; i++) {
		struct sections_place *place = &places->items[i];

		place->turn = (place->turn + 1) % place->count;
		memcpy(to + place->at, place->bytes[place->turn], place->length);
		if (place->turn)
			return true;
	}
	return false;
}

static int sections_combine(const struct sections_query *query, uint8_t *to, struct error *err)
{
	auto_free struct sections_places *places = calloc(1, sizeof(*places));
	uint8_t found[SHA256_SIZE];
	int r;

	if (!places)
		return error_no_memory(err);
	sections_find_places(query, places);
	if (sections_are_many(query, places))
		return -EBADMSG;
	for (uint32_t i = 0; i < places->count; i++)
		memcpy(to + places->items[i].at, places->items[i].bytes[0], places->items[i].length);
	do {
		r = sha256_of(to, query->length, found, err);
		if (r < 0 || memcmp(found, query->sha256, sizeof(found)) == 0)
			return r;
	} while (sections_next(places, to));
	return -EBADMSG;
}

/* --- all ways --- */

static bool sections_use(const struct sections_query *query, uint32_t member)
{
	uint64_t copies[DSFS_COPIES_MAX];

	for (uint32_t i = 0; i < query->extents->count; i++) {
		uint32_t count = backing_copies(query->backing, query->extents->items[i].address, copies);

		for (uint32_t k = 0; count > 1 && k < count; k++)
			if (address_member(copies[k]) == member)
				return true;
	}
	return false;
}

int sections_read(const struct sections_query *query, uint8_t *to, struct error *err)
{
	const struct members *members = query->backing.members;
	uint32_t count = members ? members->count : 0, ways = 0;
	int r = sections_try(query, SECTIONS_NOBODY, to, err);

	for (uint32_t i = 0; r == -EBADMSG && i < count; i++) {
		if (!sections_use(query, i))
			continue;
		r = sections_try(query, i, to, err);
		ways++;
	}
	return r == -EBADMSG && ways ? sections_combine(query, to, err) : r;
}
