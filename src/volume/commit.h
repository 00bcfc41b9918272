/* SPDX-License-Identifier: MIT */
/* The last steps of every change of a volume, in the order that survives interruption: what the catalogue names was
 * flushed before, then the catalogue into free space, flushed and read back, then the superblock slot, flushed. */
#pragma once
#include "volume/space.h"

/* What is needed to take a step back; a zeroed one has done nothing. */
struct commit {
	bool slot_written; /* or perhaps: what the slot names must stay until the slot is put back */
	uint64_t slot_offset;
	uint8_t former_slot[DSFS_BLOCK];
};

/* Writes the catalogue, whose tail it sets, and fills super's fields about it. */
must_check int commit_catalogue(struct source *source, struct space *space, struct catalogue *catalogue,
				struct superblock *super, struct error *err);
/* Counts super's sequence up and writes its slot: the change is in force when it returns 0. */
must_check int commit_slot(struct commit *commit, struct source *source, struct superblock *super, struct error *err);
/* Puts the former slot back; -errno when it is not sure which one is there. */
must_check int commit_undo(struct commit *commit, struct source *source, struct error *err);

/* The publisher record says who we are from begin to end. One that is there before was left by a publisher that did not
 * finish, as the lock was free. */
must_check int commit_begin(struct source *source, struct error *err);
must_check int commit_end(struct source *source, struct error *err);
#define COMMIT_WHO_SIZE 384u
/* "process 42 on node7 since 2026-01-31 12:00:00 UTC", or "" when nobody is recorded. */
void commit_who(struct source *source, char who[COMMIT_WHO_SIZE]);
