/* SPDX-License-Identifier: MIT */
/* The volume as a target: what lies there now, and whether it may be written to. */
#pragma once
#include "device/topology.h"
#include "io/site.h"
#include "options/pack_options.h"
#include "spill/temp.h"
#include "volume/transaction.h"

struct target {
	const char *path;               /* as it was called, for messages: site says where it is */
	struct site site;
	struct transaction transaction; /* without a member: a dry run and no file */
	bool is_device;
	struct file_source *former;     /* an existing file that the new one will replace; it keeps its lock */
	struct site successor;          /* where the new one lies until then, beside it */
	bool is_unnamed;                /* it is not there yet */
	bool wipe;                      /* something else lay here: its signatures must go */
	bool published;
	uint64_t device, inode;         /* of a file, so that the scan can notice it */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of the NVMe namespace that it is, or empty */
	bool unprotected;               /* its write protection was lifted and is to come back */
};

/* Opens and checks; writes nothing (a new file is created, empty). On failure nothing is left. */
must_check int target_open(const struct pack_options *options, struct target *ret, struct error *err);
/* First write: removes what lay on a new volume before and says who is publishing. */
must_check int target_begin(struct target *target, struct error *err);
/* Write-protects the namespace. After everything was written. */
must_check int target_protect(struct target *target, struct error *err);
/* After the commit: the name of a new file is durable, and it takes the place of a former one. 0 once it is there: that
 * this is not known to be durable is a line in the log. */
must_check int target_finish(struct target *target, struct error *err);
/* What was not published is taken back where that is possible: a new file is removed, for the rest see
 * transaction_end(). */
void target_close(struct target *target);
/* Temporary files where they were asked for, or where they go by default. */
must_check int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
				struct error *err);
