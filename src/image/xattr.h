/* SPDX-License-Identifier: MIT */
/* Sets of extended attributes in the blob: walks one set, checks all sets, and encodes one for the packer. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"

/* Prefix of the only attributes that a version may hold. Others mean something to the kernel: capabilities, access
 * lists, labels, an overlay's marks; they would become real where root copies files out of a volume. */
#define XATTR_PREFIX "user."

struct index;

/* Calls each() for the attributes of the set at an offset of the blob, until it returns non-zero, which is returned. */
must_check int xattr_each(struct span blob, uint64_t offset,
			  int (*each)(void *argument, struct span name, struct span value), void *argument,
			  struct error *err);
/* Checks every set of the index, once, when it is opened. */
must_check int xattr_check(const struct index *index, struct error *err);

/* A set that is being encoded. */
struct xattr_set {
	uint8_t *bytes; /* the caller's, DSFS_XATTRS_MAX of them */
	uint32_t used, count;
};

/* Begins a set in the caller's bytes. */
struct xattr_set xattr_set_begin(uint8_t *bytes);
/* Returns where the value of the next attribute will lie, and how much room it has there; NULL: there is none. */
uint8_t *xattr_set_value(const struct xattr_set *set, uint64_t name_length, size_t *ret_room);
/* Appends an attribute, whose value may lie at its place already. False: there is no room for it. Names must ascend
 * bytewise. */
must_check bool xattr_set_add(struct xattr_set *set, struct span name, struct span value);
/* Completes the set. Returns its length, 0 if it has no attribute. */
uint32_t xattr_set_end(const struct xattr_set *set);
