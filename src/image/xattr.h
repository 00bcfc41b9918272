/* SPDX-License-Identifier: MIT */
/* Sets of extended attributes in the blob: walks one set, and checks all sets. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* Prefix of the only attributes that a version may hold. Others mean something to the kernel: capabilities, access
 * lists, labels, an overlay's marks; they would become real where root copies files out of a volume. */
#define XATTR_PREFIX "user."

struct index;

/* Calls each() for the attributes of the set at an offset of the blob, until it returns non-zero, which is returned. */
must_check int xattr_each(const struct index *index, uint64_t offset,
			  int (*each)(void *argument, struct span name, struct span value), void *argument,
			  struct error *err);
/* Checks every set of the index, once, when it is opened. */
must_check int xattr_check(const struct index *index, struct error *err);
