/* SPDX-License-Identifier: MIT */
/* Lists runs of stored bytes that must stay together: all bytes of a small file, so that one read still fetches it, and
 * each chunk of a larger file. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/members/backing.h"

typedef void live_extents_each(void *argument, uint64_t address, uint64_t length);

/* Calls each() for the stored bytes of every file; bytes that files share are listed more than once. */
must_check int live_extents_walk(const struct index *index, live_extents_each *each, void *argument,
				 struct error *err);
/* Reads the index of a version, and does the same. */
must_check int live_extents_of_files(struct backing backing, const struct version *version, live_extents_each *each,
				     void *argument, struct error *err);
/* Does the same after the version's own sections. */
must_check int live_extents_of_version(struct backing backing, const struct version *version,
				       live_extents_each *each, void *argument, struct error *err);
