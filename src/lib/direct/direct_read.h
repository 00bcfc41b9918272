/* SPDX-License-Identifier: MIT */
/* Reads files past the mount: many at once, or by a queue. */
#pragma once
#include "lib/lib.h"

must_check int direct_read_many(struct opened *opened, struct dsfs_read *reads, size_t count,
				struct dsfs_arena *arena, struct error *err);
/* Implements backend->pending_new. */
must_check int direct_read_pending(struct opened *opened, unsigned depth, struct pending **ret, struct error *err);
