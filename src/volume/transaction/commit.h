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

/* Settles the catalogue, writes it to the members that are there, flushes it and reads it back. Fills in the catalogue
 * fields of their slots, and raises their member_size as files grow. */
must_check int commit_catalogue(const struct commit *commit, struct allocator *allocator, struct catalogue *catalogue,
				struct error *err);
/* Writes the catalogue in force to members that lack it, and then their slots: copies of newest, each with its member
 * and the place of the catalogue on it. */
must_check int commit_repeat(const struct commit *commit, struct error *err);
/* Writes and flushes the slot for super on its member. Everything that it names must be flushed before. */
must_check int commit_slot(struct source *source, const struct superblock *super, struct error *err);
/* Checks that a mount would take super from its member now. */
must_check int commit_check(struct source *source, const struct superblock *super, struct error *err);
