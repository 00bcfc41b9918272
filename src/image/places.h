/* SPDX-License-Identifier: MIT */
/* The order in which a version's files lie on the volume: its table of places, and how a table is made. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

/* Checks that the table, if there is one, names each regular file once. */
must_check int places_check(const struct index *index, struct error *err);

static inline bool places_has_table(const struct index *index)
{
	return index->places.size > 0;
}

/* Returns an element of the table, which has as many as the version has files. */
static inline uint64_t places_get(const struct index *index, uint64_t number)
{
	return dsfs_le32_get(((const dsfs_le32 *)index->places.base)[number]);
}

/* --- making a table --- */

/* Returns where a random order puts item number `number`; no two items of a seed have the same key. */
uint64_t places_key(uint64_t seed, uint64_t number);
/* Returns the device address that decides the place of a file; 0: it has none, because it takes no space of its own on
 * the volume, or is so large that it is read alone. records: count chunk records of the file, with sums of this kind,
 * all if it is small. */
uint64_t places_address(uint64_t size, uint32_t kind, const void *records, uint64_t count);
/* Whether a file without an address, which has this key, comes before file number `number` of count files in the order
 * of addresses. In the order of their keys, such files are evenly spread over the others. */
bool places_is_before(uint64_t key, uint64_t number, uint64_t count);
