/* SPDX-License-Identifier: MIT */
/* A list of extents of which any offset is found quickly. */
#pragma once
#include "image/extent_list.h"

struct extent_map {
	struct extent_list list; /* a copy */
	uint64_t *starts;        /* the offset at which each begins */
};

must_check int extent_map_open(const struct extent_list *list, struct extent_map *ret, struct error *err);
void extent_map_close(struct extent_map *map); /* a zeroed one as well */
/* The address of the byte at this offset, which must be one of the list's. */
uint64_t extent_map_address(const struct extent_map *map, uint64_t at);
