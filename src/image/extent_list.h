/* SPDX-License-Identifier: MIT */
/* A list of extents: runs of bytes on the volume. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"

struct extent {
	uint64_t address; /* device address */
	uint64_t length;  /* bytes */
};

struct members;

struct extent_list {
	struct extent *items;
	uint32_t count;
};

void extent_list_free(struct extent_list *list); /* its contents, not the struct */
must_check int extent_list_copy(const struct extent_list *from, struct extent_list *ret, struct error *err);
/* At the end of a list that only this function made; what follows the last one directly is joined with it. */
must_check int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err);
/* As above, but joined only with what lies in the same segment of so many bytes: a group's column ends there. */
must_check int extent_list_add_in(struct extent_list *list, uint64_t address, uint64_t length, uint64_t segment,
				  struct error *err);
/* Where the bytes from this offset on lie: at most length of them, in one extent. Length 0: there are none. */
struct extent extent_list_at(const struct extent_list *list, uint64_t at, uint64_t length);
/* A walk over all bytes of a list, in steps that each lie in one extent. Zeroed, it stands before the first. */
struct extent_list_walk {
	uint32_t number;    /* of the extent with the next step */
	uint64_t in;        /* bytes of it that were walked over */
	struct extent step; /* where we are */
	uint64_t at;        /* bytes of the list before it */
};

/* One step on, of most bytes at most. False: length bytes of the list were walked over, or all. */
bool extent_list_next(const struct extent_list *list, uint64_t length, uint64_t most, struct extent_list_walk *walk);
/* Reads these bytes, wherever they lie, from a copy where they have some (members, NULL: none). -ENODATA
 * when the list is shorter. */
must_check int extent_list_read(const struct extent_list *list, struct source *source,
				const struct members *members, uint64_t at, void *buffer, uint64_t length,
				struct error *err);
