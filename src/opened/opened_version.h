/* SPDX-License-Identifier: MIT */
/* An opened version, as a process holds it in memory. It comes from a volume, or from another process that has it open.
 * It does not change afterwards, so any thread may read it. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/members/backing.h"

struct opened_version {
	struct version version;        /* a copy with lists of its own */
	struct index *index;           /* with the table of members; NULL: nothing is open */
	struct block_sums *block_sums; /* NULL: the version has none, or they are damaged */
	uint32_t hidden_mode; /* mode bits that stat hides, also of directories: in a copy they would take effect */
};

/* Opens a version of a volume. An index and block checksums that *ret has already, as from a copy, are used. The
 * version is opened without block checksums that are damaged, as chunks have checksums of their own: ret_damage, which
 * may be NULL, then says why. On failure *ret is closed. */
must_check int opened_version_load(struct backing backing, const struct version *version, struct opened_version *ret,
				   struct error *ret_damage, struct error *err);
/* Loads the block checksums from the volume, also in place of those that *opened has. Damage: as above. */
must_check int opened_version_load_sums(struct backing backing, struct opened_version *opened,
					struct error *ret_damage, struct error *err);
/* Writes the record (opened/version_record.h) by which another process opens the version. */
must_check int opened_version_record(const struct opened_version *opened, int *ret_fd, struct error *err);
/* Opens a version that another process has open, from its record and its index (index->memfd). Reads nothing of the
 * volume, and does not check the index again. Takes *index_fd on success. -EPROTO: one of them is bad. */
must_check int opened_version_receive(int record_fd, int *index_fd, struct opened_version *ret, struct error *err);
/* Closes what the structure holds, not the structure itself. */
void opened_version_close(struct opened_version *opened);
