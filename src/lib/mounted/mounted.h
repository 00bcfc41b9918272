/* SPDX-License-Identifier: MIT */
/* Owns the backend through the mount: for callers that may not have the daemon's descriptors, or do not trust it. */
#pragma once
#include "lib/lib.h"

extern const struct backend mounted_backend;

/* Opens a version through the mount in which query->where lies. why: the reason why it is not read past the mount, for
 * dsfs_info. */
must_check int mounted_open(const struct query *query, const char *why, struct opened **ret, struct error *err);
/* Implements backend->renew. */
must_check int mounted_renew(struct opened *opened, const struct query *query, struct opened **ret, struct error *err);
/* Implements backend->close. */
void mounted_close(struct opened *opened);
