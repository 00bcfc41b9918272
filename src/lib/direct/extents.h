/* SPDX-License-Identifier: MIT */
/* Tells where the chunks of a file lie, and verifies bytes that a caller has read there. */
#pragma once
#include "lib/lib.h"

/* Implements backend->extents. Needs read permission for the file. */
must_check int extents_list(struct opened *opened, uint64_t id, uint64_t offset, struct dsfs_file_extent *ret,
			    size_t most, struct error *err);
/* Verifies the stored bytes of an extent, which the caller has read, and decodes them into contents unless that is
 * NULL. */
must_check int extents_verify(const struct dsfs_file_extent *extent, const void *stored, void *contents,
			      struct error *err);
