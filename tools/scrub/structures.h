/* SPDX-License-Identifier: MIT */
/* Superblock slots, publisher records and copies of the catalogue of all members: whether they are sound, and how they
 * become so. */
#pragma once
#include "scrub/findings.h"
#include "volume/transaction.h"

/* Looks at those of a member. */
must_check int structures_check(struct source *source, uint32_t member, bool is_only, struct findings *findings,
				struct error *err);
/* A member that is not there. */
void structures_missing(uint32_t member, struct findings *findings);
/* The same for all members of a volume that is locked, loaded and checked: begins the transaction, which gives slots
 * and catalogues to members that are behind; empties slots that are damaged, and writes catalogues again. */
must_check int structures_repair(struct transaction *transaction, struct findings *findings, struct error *err);
