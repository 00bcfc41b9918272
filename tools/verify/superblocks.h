/* SPDX-License-Identifier: MIT */
/* Checks the structures in the first MiB of a member: superblock slots and the publisher record. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/source.h"
#include "datasetfs/format.h"

/* The state in which a structure was found. Zeros are sound. A damaged structure is read twice, because a publisher may
 * be rewriting it. */
struct superblocks_found {
	int result; /* 0: sound; -EBADMSG: damaged; another negative errno: it cannot be read */
	bool is_empty;
	struct error err;
};

void superblocks_check_slot(struct source *source, uint32_t member, uint32_t slot, struct superblocks_found *ret);
/* Reads all slots of a member at once, if its source can. */
void superblocks_check_slots(struct source *source, uint32_t member, struct superblocks_found found[DSFS_SLOT_COUNT]);
void superblocks_check_publisher(struct source *source, uint32_t member, struct superblocks_found *ret);
