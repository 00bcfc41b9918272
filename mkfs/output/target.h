/* SPDX-License-Identifier: MIT */
/* The volume as a target: what lies there now, and whether it may be written to. */
#pragma once
#include "base/source.h"
#include "device/fence.h"
#include "device/topology.h"
#include "image/catalogue.h"
#include "volume/commit.h"
#include "volume/space.h"
#include "io/file.h"
#include "io/site.h"
#include "options/pack_options.h"
#include "spill/temp.h"

struct target {
	const char *path;            /* as it was called, for messages: site says where it is */
	struct site site;
	struct file_source *file;
	struct source *source; /* all volume I/O; a test may put its own around it. NULL: a dry run and no file */
	bool is_device;
	bool created;          /* the file was not there */
	struct file_source *former; /* an existing file that the new one will replace; it keeps its lock */
	struct site successor; /* where the new one lies until then, beside it */
	bool is_unnamed;       /* it is not there yet */
	bool is_new;           /* no catalogue to continue */
	bool wipe;             /* something else lay here: its signatures must go */
	bool begun;            /* something was written */
	struct commit commit;
	bool published;
	uint64_t former_size;  /* of a file */
	uint64_t capacity;     /* bytes that may be used */
	uint64_t device, inode; /* of a file, so that the scan can notice it */
	char identity[TOPOLOGY_IDENTITY_SIZE]; /* of the NVMe namespace that it is, or empty */
	struct fence fence;
	bool unprotected;      /* its write protection was lifted and is to come back */
	struct superblock super; /* in force; of a new volume: what the first will have, sequence 0 */
	struct catalogue catalogue;
};

/* Opens and checks; writes nothing (a new file is created, empty). On failure nothing is left. */
must_check int target_open(const struct pack_options *options, struct target *ret, struct error *err);
/* First write: removes what lay on a new volume before and says who is publishing. */
must_check int target_begin(struct target *target, struct error *err);
/* -EBUSY when another host has taken the namespace from us: nothing may be changed any more. */
must_check int target_check_fence(const struct target *target, struct error *err);
/* Write-protects the namespace. After everything was written. */
must_check int target_protect(struct target *target, struct error *err);
/* The name of a file that was created is durable after it. */
must_check int target_sync_name(const struct target *target, struct error *err);
/* Puts the new file in the place of the former one, after the new volume was published. 0 once it is there: that it is
 * not known to be durable is a line in the log. */
must_check int target_replace_former(struct target *target, struct error *err);
/* A volume that was not published to is put back: a new file is removed, one that grew is cut. */
void target_close(struct target *target);
/* Temporary files where they were asked for, or where they go by default. */
must_check int target_open_temp(const struct target *target, const struct pack_options *options, struct temp **ret,
				struct error *err);
