/* SPDX-License-Identifier: MIT */
/* Checks superblock slots, publisher records and catalogues of all members, and repairs them. */
#pragma once
#include "scrub/findings.h"
#include "volume/transaction/transaction.h"

/* Checks the structures of one member. is_only: the volume has no other, so findings do not name it. */
must_check int structures_check(struct source *source, uint32_t member, bool is_only, struct findings *findings,
				struct error *err);
/* Reports a missing member. */
void structures_missing(uint32_t member, struct findings *findings);
/* Checks and repairs the structures of all members. The transaction must be locked, loaded and checked. Begins it,
 * which updates members that are behind; empties damaged slots, and writes damaged catalogues again. */
must_check int structures_repair(struct transaction *transaction, struct findings *findings, struct error *err);
