/* SPDX-License-Identifier: MIT */
/* The volume as a target: opened, formatted if it is new, and finished. */
#pragma once
#include "output/medium.h"
#include "spill/temp.h"
#include "volume/transaction.h"

struct target {
	const char *path;               /* as it was called, for messages */
	struct medium *media;           /* by number of the member */
	uint32_t count;
	struct transaction transaction; /* without a member: a dry run on files that are not there */
	bool published; /* what was written stays */
};

/* Opens and checks; writes nothing (new files are created, empty). On failure nothing is left. */
must_check int target_open(const struct pack_options *options, struct target *ret, struct error *err);
/* First write: removes what lay on a new volume before and says who is publishing. */
must_check int target_begin(struct target *target, struct error *err);
/* Write-protects the namespaces. After everything was written. */
must_check int target_protect(struct target *target, struct error *err);
/* After the commit: the names of new files are durable, and in the order of the members they take the places of former
 * ones. 0 once they are there: that this is not known to be durable is a line in the log. When only some are, the
 * reason says so. */
must_check int target_finish(struct target *target, struct error *err);
/* What was not published is taken back where that is possible: new files are removed, for the rest see
 * transaction_end(). */
void target_close(struct target *target);
/* Temporary files where they were asked for, or where they go by default. */
must_check int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
				struct error *err);
/* Whether a member is this file. */
bool target_holds(const struct target *target, uint64_t device, uint64_t inode);
/* All members are devices. */
bool target_is_on_devices(const struct target *target);
/* The folder of the first file that is there; -1: not known, or there is none. */
int target_folder(const struct target *target);
