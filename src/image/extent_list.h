/* SPDX-License-Identifier: MIT */
/* A list of extents: runs of bytes on the volume. */
#pragma once
#include <stdint.h>

#include "base/error.h"

struct extent {
	uint64_t address; /* device address */
	uint64_t length;  /* bytes */
};

struct extent_list {
	struct extent *items;
	uint32_t count;
};

/* At the end of a list that only this function made; what follows the last one directly is joined with it. */
must_check int extent_list_add(struct extent_list *list, uint64_t address, uint64_t length, struct error *err);
