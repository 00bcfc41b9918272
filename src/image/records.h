/* SPDX-License-Identifier: MIT */
/* Which large file owns which chunk records, and how many of these are holes: checked once, when an index is opened. */
#pragma once
#include "image/index.h"

struct inode;

/* -EBADMSG when large files share records, so that whoever looks at every file looks at more than there is, or when a
 * list of long holes is wrong. */
must_check int records_check(const struct index *index, struct error *err);
/* Finds the holes of large files, so that records_hole_bytes() need not look at the file's records each time. */
must_check int records_measure(struct index *index, struct error *err);
/* Of a large file. */
uint64_t records_hole_bytes(const struct index *index, const struct inode *inode);
