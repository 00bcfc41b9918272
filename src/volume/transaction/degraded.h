/* SPDX-License-Identifier: MIT */
/* Decides whether a volume may be changed while members are missing, and records that in the catalogue. README.md has
 * the reasons. */
#pragma once
#include "image/catalogue/catalogue.h"

/* How many members may be missing. */
enum degraded {
	DEGRADED_NOT,    /* none */
	DEGRADED_MOST,   /* fewer than half of them */
	DEGRADED_HALF,   /* half: only the user knows that the other half is not being changed */
	DEGRADED_REPAIR, /* half, for changes that make no new catalogue: no member becomes stale */
};

/* Parses the argument of --degraded; NULL: it has none. */
must_check int degraded_parse(const char *argument, enum degraded *ret, struct error *err);

/* In all calls below, is_missing has an element for each member of the table, and is true also for a stale one. */

/* Checks that a change may go on without the missing members. -ENOLINK: it may not; the reason names the first one and
 * the remedy. */
must_check int degraded_check(const struct members *members, const bool *is_missing, enum degraded degraded,
			      struct error *err);
/* Returns whether the change would make this member stale, which it is not yet. */
bool degraded_is_new(const struct members *members, const bool *is_missing, uint32_t number);
/* Checks that no member that would become stale is only reconnecting. -EBUSY: this machine still has its namespace,
 * with no live path: it may be back in a moment. A user who knows better disconnects it: the kernel retries for
 * ctrl_loss_tmo, an hour if datasetfsctl made the connection. */
must_check int degraded_check_paths(const struct members *members, const bool *is_missing, struct error *err);
/* Enters missing members into the catalogue as stale since newest, which is in force, and gives the next version a
 * sequence that no other half of the volume can use. */
void degraded_enter(struct catalogue *catalogue, const bool *is_missing, const struct superblock *newest);
