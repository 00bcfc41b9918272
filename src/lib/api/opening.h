/* SPDX-License-Identifier: MIT */
/* Chooses the backend of a handle: past the mount, through it, or by the name of a volume. */
#pragma once
#include "lib/lib.h"

must_check int opening_open(const struct query *query, struct opened **ret, struct error *err);
/* Opens the version that a handle should have now, through its backend or, if that cannot tell, by the name in the
 * query. *ret is NULL if `opened` is that version and nothing else changed. */
must_check int opening_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err);
