/* SPDX-License-Identifier: MIT */
/* Checks superblock slots, publisher records and catalogues of all members, and repairs them. */
#pragma once
#include "scrub/findings.h"
#include "volume/transaction.h"

/* Checks those of one member. */
must_check int structures_check(struct source *source, uint32_t member, bool is_only, struct findings *findings,
				struct error *err);
/* Reports a missing member. */
void structures_missing(uint32_t member, struct findings *findings);
/* The same for all members of a volume that is locked, loaded and checked: begins the transaction, which gives slots
 * and catalogues to members that are behind; empties slots that are damaged, and writes catalogues again. */
must_check int structures_repair(struct transaction *transaction, struct findings *findings, struct error *err);
