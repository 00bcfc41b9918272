/* SPDX-License-Identifier: MIT */
/* Decides whether a volume may be changed while members are missing, and records that in the catalogue. README.md has
 * the reasons. */
#pragma once
#include "image/catalogue.h"

/* Which members may be missing. */
enum degraded {
	DEGRADED_NOT,    /* none */
	DEGRADED_MOST,   /* fewer than half of them */
	DEGRADED_HALF,   /* half: nobody but the user knows that the other half is not being changed */
	DEGRADED_REPAIR, /* half, for who makes no new catalogue: nobody becomes stale */
};

/* What a user said behind --degraded; NULL: nothing. */
must_check int degraded_parse(const char *argument, enum degraded *ret, struct error *err);

/* In both, is_missing says it of each member in the table; one that is stale is missing, too. */

/* -ENOLINK, with the first one and what to do, when a change may not go on without those that are missing. */
must_check int degraded_check(const struct members *members, const bool *is_missing, enum degraded degraded,
			      struct error *err);
/* Whether it would be stale only by this change. */
bool degraded_is_new(const struct members *members, const bool *is_missing, uint32_t number);
/* -EBUSY: one of those is a namespace that this machine still has, and no path of which is live: it may be back in a
 * moment. Somebody who knows better disconnects it: the kernel tries for as long as ctrl_loss_tmo says, an hour by our
 * connect. */
must_check int degraded_check_paths(const struct members *members, const bool *is_missing, struct error *err);
/* Enters them into the catalogue as stale since newest, which is in force, and gives the next version a sequence that
 * no other half gives to one. */
void degraded_enter(struct catalogue *catalogue, const bool *is_missing, const struct superblock *newest);
