/* SPDX-License-Identifier: MIT */
/* A list of extents in which any offset is found quickly. */
#pragma once
#include "image/members/extent_list.h"

struct extent_map {
	struct extent_list list; /* a copy */
	uint64_t *starts;        /* the offset at which each extent begins */
};

must_check int extent_map_open(const struct extent_list *list, struct extent_map *ret, struct error *err);
void extent_map_close(struct extent_map *map); /* a zeroed map may be closed too */
/* Returns the address of the byte at this offset, which must be inside the list. */
uint64_t extent_map_address(const struct extent_map *map, uint64_t at);
