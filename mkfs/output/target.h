/* SPDX-License-Identifier: MIT */
/* Opens the volume as the target of a publish, formats it if it is new, and finishes it. */
#pragma once
#include "output/medium.h"
#include "spill/temp.h"
#include "volume/transaction/transaction.h"

struct target {
	const char *path;               /* as the user named it, for messages */
	struct medium *media;           /* by number of the member */
	uint32_t count;
	struct transaction transaction; /* has no member in a dry run on files that do not exist */
	bool published; /* the version is published, so new files stay */
};

/* Opens and checks the members. Creates new files, empty, and writes nothing else. On failure nothing is left. */
must_check int target_open(const struct pack_options *options, struct target *ret, struct error *err);
/* Makes the first write: wipes the former content of a new volume's devices, and writes the publisher record. */
must_check int target_begin(struct target *target, struct error *err);
/* Ends the transaction and write-protects the namespaces, after everything was written. */
must_check int target_protect(struct target *target, struct error *err);
/* Makes the names of new files durable, then replaces former files by them in the order of the members. Must be called
 * after the commit. Returns 0 once all are in place; if that is not known to be durable, a log line says so. If only
 * some are in place, the reason says so. */
must_check int target_finish(struct target *target, struct error *err);
/* Closes the target. Without a publish, removes new files; transaction_end() takes back the rest where it can. */
void target_close(struct target *target);
/* Opens the directory for temporary files: --temp-dir, $TMPDIR, the folder of the volume's file, or /var/tmp. */
must_check int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
				struct error *err);
/* Returns whether a member is this file. */
bool target_holds(const struct target *target, uint64_t device, uint64_t inode);
/* Returns whether all members are devices. */
bool target_is_on_devices(const struct target *target);
/* Returns the folder of the first member whose folder is known; -1: there is none. */
int target_folder(const struct target *target);
