/* SPDX-License-Identifier: MIT */
/* The record of an open version: a sealed file in memory from which another process opens the version without reading
 * the volume: the next server, a client, or another mount. It has the version and the table of members as a catalogue
 * has them, which members were missing, and the head of the block checksums; the index is a file of its own. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/version.h"
#include "image/members/members.h"

#define VERSION_RECORD_FORMAT 3u /* a reader takes this one only */

struct version_record {
	uint32_t hidden_mode; /* mode bits that the mount does not show */
	uint64_t member_size; /* of member 0 */
	struct version version;
	struct members members;        /* count 0: the volume has one member and no table */
	struct block_sums *block_sums; /* NULL: the version has none, or they are damaged */
};

/* Writes the file; *ret_fd is close-on-exec and sealed. */
must_check int version_record_write(const struct version_record *record, int *ret_fd, struct error *err);
/* Reads and checks a file, which may be hostile; the caller keeps its descriptor. -EPROTO: it is malformed;
 * -EOPNOTSUPP: it needs a feature that this release does not know. */
must_check int version_record_read(int fd, struct version_record *ret, struct error *err);
/* Reads and checks the bytes of such a file, which must be aligned to 8 bytes. */
must_check int version_record_decode(struct span bytes, struct version_record *ret, struct error *err);
void version_record_free(struct version_record *record); /* frees its contents, not the struct */
