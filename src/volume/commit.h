/* SPDX-License-Identifier: MIT */
/* Puts a change in force: writes its catalogue into free space, and then the superblock slot that refers to it. */
#pragma once
#include "volume/allocator.h"

/* Writes the catalogue to the members that are there, flushes it and reads it back: after its tail, or those of its
 * groups, and the sizes of the members were set. slots: of each of them what it will have, whose fields about the
 * catalogue are filled; their sizes grow as files do. newest: in force, sequence 0 when nothing is. */
must_check int commit_catalogue(struct source *source, struct allocator *allocator, struct catalogue *catalogue,
				const struct superblock *newest, struct superblock *slots, uint32_t count,
				struct error *err);
/* Writes the catalogue in force to members that do not have it, and then their slots. slots: those of newest, but with
 * the member and the place of the catalogue on it. */
must_check int commit_repeat(struct source *source, const struct superblock *newest, struct superblock *slots,
			     uint32_t count, struct error *err);
/* Writes the member's slot that belongs to super->sequence, and flushes it. What it names was flushed before. */
must_check int commit_slot(struct source *source, const struct superblock *super, struct error *err);
/* 0 when super is what a mount would take from its member now. */
must_check int commit_check(struct source *source, const struct superblock *super, struct error *err);
