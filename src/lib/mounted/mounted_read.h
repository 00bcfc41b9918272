/* SPDX-License-Identifier: MIT */
/* Reads files through a mount, several at a time. */
#pragma once
#include "lib/lib.h"

/* Implement backend->read_many and backend->pending_new. */
must_check int mounted_read_many(struct opened *opened, struct dsfs_read *reads, size_t count,
				 struct dsfs_arena *arena, struct error *err);
must_check int mounted_read_pending(struct opened *opened, unsigned depth, struct pending **ret, struct error *err);
