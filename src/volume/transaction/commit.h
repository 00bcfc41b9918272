/* SPDX-License-Identifier: MIT */
/* Puts a change in force: writes its catalogue into free space, and then the superblock slot that refers to it. */
#pragma once
#include "volume/space/allocator.h"

/* Settles the catalogue, writes it to the members that are there, flushes it and reads it back. slots: one for each of
 * these members, whose catalogue fields this fills in, and whose member_size it raises as files grow. newest: the
 * superblock in force; sequence 0: there is none. */
must_check int commit_catalogue(struct source *source, struct allocator *allocator, struct catalogue *catalogue,
				const struct superblock *newest, struct superblock *slots, uint32_t count,
				struct error *err);
/* Writes the catalogue in force to members that lack it, and then their slots. slots: copies of newest, each with its
 * member and the place of the catalogue on it. */
must_check int commit_repeat(struct source *source, const struct superblock *newest, struct superblock *slots,
			     uint32_t count, struct error *err);
/* Writes and flushes the slot for super on its member. Everything that it names must be flushed before. */
must_check int commit_slot(struct source *source, const struct superblock *super, struct error *err);
/* Checks that a mount would take super from its member now. */
must_check int commit_check(struct source *source, const struct superblock *super, struct error *err);
