/* SPDX-License-Identifier: MIT */
/* Checks that a handle with trust makes of a version: a signature of its record, and an index that has the digest
 * that was signed. Without trust all of these succeed. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "lib/direct/daemon/link.h"
#include "lib/lib.h"

/* Checks the signatures of a version of this catalogue, and that its signed date is not before *date, which it sets to
 * that date. */
must_check int trusted_record(const struct catalogue *catalogue, const struct version *version,
			      const struct query *query, uint64_t *date, struct error *err);
/* Checks that the index has the digest of the record. */
must_check int trusted_index(struct index *index, const struct version *version, const struct query *query,
			     struct error *err);
/* Checks what a daemon handed over against the volume's own record, and drops block checksums that it sent: they are to
 * be read from the volume, with the sum that was signed. */
must_check int trusted_handed(struct link_version *got, const struct query *query, struct error *err);
