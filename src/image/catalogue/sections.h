/* SPDX-License-Identifier: MIT */
/* Reads sections that have one sum for the whole. If there are copies, it finds copies that together have that sum. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/members/backing.h"
#include "image/members/extent_list.h"

struct sections_query {
	struct backing backing;
	const struct extent_list *extents; /* the section's bytes, in order */
	uint64_t length;                   /* bytes of the section that the sum covers */
	const uint8_t *sha256;
};

/* Reads the section. -EBADMSG, without a reason: no copies together have the sum. Tries the first copy of everything,
 * then avoids one member after the other; then, if copies differ in a few blocks only, tries every combination. */
must_check int sections_read(const struct sections_query *query, uint8_t *to, struct error *err);
