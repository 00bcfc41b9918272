/* SPDX-License-Identifier: MIT */
/* Reads sections of which only the whole has a sum. Where there are copies, those count that together are right. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "image/extent_list.h"
#include "image/members.h"

struct sections_wish {
	struct source *source;
	const struct members *members;     /* NULL: its bytes have no copies */
	const struct extent_list *extents; /* where it lies, in order */
	uint64_t length;                   /* bytes of it that the sum is of */
	const uint8_t *sha256;
};

/* -EBADMSG, without a reason: no copies were found that together have the sum. First come all of one turn, then all but
 * those of one member; then, where they differ in a few blocks only, every combination. */
must_check int sections_read(const struct sections_wish *wish, uint8_t *to, struct error *err);
