/* SPDX-License-Identifier: MIT */
/* Stored bytes of files that must stay together: all of a small file, so that it stays one read, otherwise one
 * chunk. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

/* Calls each() for the stored bytes of every file; what files share comes more than once. */
must_check int live_extents_walk(const struct index *index,
				 void (*each)(void *argument, uint64_t address, uint64_t length),
				 void *argument, struct error *err);
