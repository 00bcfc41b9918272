/* SPDX-License-Identifier: MIT */
/* Sets of extended attributes in the blob: walks one, and checks all of them. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* What a version may hold. Other attributes mean something to the kernel: capabilities, access lists, labels, an
 * overlay's marks; out of a volume they would become real where root copies files. */
#define XATTR_PREFIX "user."

struct index;

/* Of the set at an offset of the blob; each() gets name and value, non-zero from it ends the walk and is returned. */
must_check int xattr_each(const struct index *index, uint64_t offset,
			  int (*each)(void *argument, struct span name, struct span value), void *argument,
			  struct error *err);
/* Every set of the index, once, when it is opened. */
must_check int xattr_check(const struct index *index, struct error *err);
