/* SPDX-License-Identifier: MIT */
/* Reads copies of a version's sections in groups that have copies: one copy as a source, or all to compare them. Chunks
 * have sums of their own, see check.h. */
#pragma once
#include "base/error.h"
#include "base/source.h"
#include "image/members/extent_list.h"
#include "image/members/members.h"

/* A source that reads copy number `copy`, counted from 0, or the first copy if there are fewer. The caller keeps below
 * and members. */
struct copies_source {
	struct source source;
	struct source *below;
	const struct members *members;
	uint32_t copy;
};

void copies_source_init(struct copies_source *copies, struct source *below, const struct members *members,
			uint32_t copy);
/* Compares all copies of the extents. -EBADMSG: two differ; the message has the first place. */
must_check int copies_compare(struct source *source, const struct members *members, const struct extent_list *extents,
			      struct error *err);
