/* SPDX-License-Identifier: MIT */
/* Lists runs of stored bytes that must stay together: all bytes of a small file, so that one read still fetches it, and
 * each chunk of a larger file. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

/* Calls each() for the stored bytes of every file; bytes that files share are listed more than once. */
must_check int live_extents_walk(const struct index *index,
				 void (*each)(void *argument, uint64_t address, uint64_t length),
				 void *argument, struct error *err);
