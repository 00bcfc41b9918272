/* SPDX-License-Identifier: MIT */
/* What a client has to know of a version of several members and no packet has room for: their table, which of them are
 * missing, and the head of the block checksums. The daemon puts it into a file in memory, so a client that begins reads
 * no member: one may hang. */
#pragma once
#include "base/error.h"
#include "image/block_sums.h"
#include "image/members.h"
#include "image/version.h"

/* The file, closed on exec. missing: a bit for each member that the client does not get, beside those that members says
 * are missing. block_sums may be NULL. */
must_check int table_write(const struct members *members, const struct version *version,
			   const struct block_sums *block_sums, const uint8_t *missing, int *ret_fd, struct error *err);
/* Of a version of count members, whose block checksums are set: with its table and, NULL if it has none, their head. */
must_check int table_read(int fd, uint32_t count, struct version *version, struct members *ret,
			  struct block_sums **ret_block_sums, struct error *err);
