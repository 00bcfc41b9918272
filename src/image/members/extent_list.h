/* SPDX-License-Identifier: MIT */
/* A list of extents: runs of bytes on the volume. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/members/backing.h"

struct extent {
	uint64_t address; /* device address */
	uint64_t length;  /* bytes */
};

struct extent_list {
	struct extent *items;
	uint32_t count;
};

void extent_list_free(struct extent_list *list); /* frees its contents, not the struct */
must_check int extent_list_copy(const struct extent_list *from, struct extent_list *ret, struct error *err);
/* Appends to a list that was built by this function alone. Bytes that directly follow the last extent are joined to
 * it. */
must_check int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err);
/* Appends like extent_list_add(), but joins bytes only within a segment (of `segment` bytes), because a group's column
 * ends with it. */
must_check int extent_list_add_in(struct extent_list *list, uint64_t address, uint64_t length, uint64_t segment,
				  struct error *err);
/* Returns where the bytes from offset `at` of the list lie: at most length of them, in one extent. Length 0: the list
 * is shorter. */
struct extent extent_list_at(const struct extent_list *list, uint64_t at, uint64_t length);
/* A walk over all bytes of a list, in steps that each lie in one extent. A zeroed walk is before the first step. */
struct extent_list_walk {
	uint32_t number;    /* of the extent with the next step */
	uint64_t in;        /* bytes of that extent walked so far */
	struct extent step; /* the current step */
	uint64_t at;        /* bytes of the list before the step */
};

/* Makes one step of at most `most` bytes. False: length bytes, or the whole list, have been walked. */
bool extent_list_next(const struct extent_list *list, uint64_t length, uint64_t most, struct extent_list_walk *walk);
/* Reads length bytes from offset at, from any copy. -ENODATA if the list is shorter. */
must_check int extent_list_read(const struct extent_list *list, struct backing backing, uint64_t at, void *buffer,
				uint64_t length, struct error *err);
