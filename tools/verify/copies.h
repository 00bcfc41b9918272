/* SPDX-License-Identifier: MIT */
/* Copies of a version's sections, where they lie in groups of copies: one of them as a source, and whether all are the
 * same. Chunks have sums of their own, see check.h. */
#pragma once
#include "base/error.h"
#include "base/source.h"
#include "image/extent_list.h"
#include "image/members.h"

/* What is below, but that this copy is read, from 0, where there are so many. Both stay the caller's. */
struct copies_source {
	struct source source;
	struct source *below;
	const struct members *members;
	uint32_t copy;
};

void copies_source_init(struct copies_source *copies, struct source *below, const struct members *members,
			uint32_t copy);
/* -EBADMSG: the first place at which two differ. */
must_check int copies_compare(struct source *source, const struct members *members, const struct extent_list *extents,
			      struct error *err);
