/* SPDX-License-Identifier: MIT */
/* Puts a change in force: writes its catalogue into free space, and then the superblock slot that refers to it. */
#pragma once
#include "volume/space/allocator.h"

struct commit {
	struct source *source;
	const struct superblock *newest; /* the superblock in force; sequence 0: there is none */
	struct superblock *slots;        /* one for each member that gets the catalogue */
	uint32_t count;
};

/* Completes the catalogue (allocator_settle()), writes it to the members that are there, flushes it and reads it back.
 * Fills in the catalogue fields of the members' slots, and raises member_size where a file grows. */
must_check int commit_catalogue(const struct commit *commit, struct allocator *allocator, struct catalogue *catalogue,
				struct error *err);
/* Writes the catalogue in force to members that lack it, and then their slots: copies of newest, each with the number
 * of its member and the address of the catalogue there. */
must_check int commit_repeat(const struct commit *commit, struct error *err);
/* Writes and flushes the slot for super on its member. Everything that it names must be flushed before. */
must_check int commit_slot(struct source *source, const struct superblock *super, struct error *err);
/* Checks that a mount would find super in force on its member now. */
must_check int commit_check(struct source *source, const struct superblock *super, struct error *err);
