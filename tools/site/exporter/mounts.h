/* SPDX-License-Identifier: MIT */
/* Lists the mounts of datasetfs that this process can see: each filesystem once, at its first mountpoint. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/mountinfo.h"

#define MOUNTS_MAX 1024u /* further ones are left out */

struct mounts_entry {
	dev_t device;
	char *point;
	bool is_shared; /* users other than the one who mounted it may use it */
	bool is_roots;  /* root mounted it */
	bool is_kernels; /* the kernel serves it by itself; it has a record for all */
};

struct mounts {
	struct mounts_entry *list;
	size_t count;
	size_t left_out;
};

/* Adds a line of the mount table if it is a mount of datasetfs. If there are too many, those of root replace those of
 * users. */
must_check int mounts_see(struct mounts *mounts, const struct mountinfo *info, struct error *err);
must_check int mounts_read(struct mounts *ret, struct error *err);
void mounts_free(struct mounts *mounts); /* frees its contents only */
