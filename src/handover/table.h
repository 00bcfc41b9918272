/* SPDX-License-Identifier: MIT */
/* The part of a version's record that no packet has room for if the volume has several members: the table of members,
 * which of them are missing, and the head of the block checksums. The daemon puts it into a memory file, so that a
 * starting client need not read any member, as that may hang. */
#pragma once
#include "base/error.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/version.h"
#include "image/members/members.h"

/* Writes the memory file; *ret_fd is close-on-exec. missing has a bit for each member that the client does not get, in
 * addition to the members marked missing in members. block_sums may be NULL. */
must_check int table_write(const struct members *members, const struct version *version,
			   const struct block_sums *block_sums, const uint8_t *missing, int *ret_fd, struct error *err);
/* Reads a version's table of count members, its extents of block checksums, and their head (NULL: it has none). */
must_check int table_read(int fd, uint32_t count, struct version *version, struct members *ret,
			  struct block_sums **ret_block_sums, struct error *err);
