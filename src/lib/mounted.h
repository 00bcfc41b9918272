/* SPDX-License-Identifier: MIT */
/* The way through the mount: for who may not have the descriptors of the daemon, or does not trust it. */
#pragma once
#include "lib/lib.h"

extern const struct way mounted_way;

/* wish->where lies in the mount. why: why it is not read past the mount, for dsfs_info. */
must_check int mounted_open(const struct wish *wish, const char *why, struct opened **ret, struct error *err);
/* As way->renew. */
must_check int mounted_renew(struct opened *opened, const struct wish *wish, struct opened **ret, struct error *err);
/* As way->close. */
void mounted_close(struct opened *opened);
