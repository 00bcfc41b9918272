/* SPDX-License-Identifier: MIT */
/* Chooses the way of a handle: past the mount, through it, or by the name of a volume. */
#pragma once
#include "lib/lib.h"

must_check int opening_open(const struct query *query, struct opened **ret, struct error *err);
/* Opens the version that a handle should have now, by its way or, if that cannot tell, by the name; *ret as of
 * way->renew. */
must_check int opening_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err);
