/* SPDX-License-Identifier: MIT */
/* Takes the entries of a stream as files below a directory. Neither the version nor the directory's contents can lead
 * out of it: each name on a path is opened in the directory before it, and no link is followed. A file gets its name
 * when it is complete. */
#pragma once
#include <stdbool.h>

#include "extract/stream.h"

struct target;

struct target_setup {
	const char *directory; /* which is there already */
	const struct index *index;
	const struct array_source *volume; /* which is never replaced */
	bool force; /* replace files and links that are there */
	bool suid;  /* keep the setuid and setgid bits */
};

must_check int target_open(const struct target_setup *setup, struct target **ret, struct error *err);
/* Its argument is the struct target. */
extern const struct stream_taker target_taker;
/* Gives the directories that were made their attributes. */
must_check int target_finish(struct target *target, struct error *err);
/* Removes an incomplete file. NULL does nothing. */
void target_close(struct target *target);
/* Returns how many attributes (xattr(7)) the filesystem did not take. */
uint64_t target_lost_attributes(const struct target *target);
