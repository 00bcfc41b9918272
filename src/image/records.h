/* SPDX-License-Identifier: MIT */
/* The chunk records of large files: their owners and holes, checked once, when an index is opened. */
#pragma once
#include "image/index.h"

struct inode;

/* Returns -EBADMSG if large files share records, so that reading every file would be more work than there is content,
 * or if a list of long holes is wrong. */
must_check int records_check(const struct index *index, struct error *err);
/* Finds the holes of large files, so that records_hole_bytes() need not look at the file's records each time. */
must_check int records_measure(struct index *index, struct error *err);
/* Returns the bytes in the holes of a large file. */
uint64_t records_hole_bytes(const struct index *index, const struct inode *inode);
