/* SPDX-License-Identifier: MIT */
/* Further checks of a version for a handle with trust, beside trust_check(): its index has the digest that was signed,
 * and a daemon handed over the version that is on the volume. Without trust all of these succeed. */
#pragma once
#include "image/catalogue/catalogue.h"
#include "lib/direct/daemon/link.h"
#include "lib/lib.h"

/* Checks that the index has the digest of the record. */
must_check int trusted_index(struct index *index, const struct version *version, const struct query *query,
			     struct error *err);
/* Checks what a daemon handed over against the volume's own record, and drops block checksums that it sent: they are to
 * be read from the volume, with the sum that was signed. */
must_check int trusted_handed(struct link_version *got, const struct query *query, struct error *err);
