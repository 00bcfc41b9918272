/* SPDX-License-Identifier: MIT */
/* Puts a change in force: writes its catalogue into free space, and then the superblock slot that refers to it. */
#pragma once
#include "volume/space.h"

/* Writes the catalogue, whose tail it sets, flushes it and reads it back; fills super's fields about it. */
must_check int commit_catalogue(struct source *source, struct space *space, struct catalogue *catalogue,
				struct superblock *super, struct error *err);
/* Writes the slot that belongs to super->sequence, and flushes it. What it names was flushed before. */
must_check int commit_slot(struct source *source, const struct superblock *super, struct error *err);
/* 0 when super is what a mount would take now. */
must_check int commit_check(struct source *source, const struct superblock *super, struct error *err);
