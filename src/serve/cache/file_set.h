/* SPDX-License-Identifier: MIT */
/* A set of files of one version, by their ordinals, which costs a bit for each inode of the version, however often a
 * file is named. Its user holds a lock, or is alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"

struct file_set {
	uint64_t *bits;
	uint64_t count; /* of inodes; ordinals begin with 1 */
};

/* Makes an empty set. */
must_check int file_set_open(struct file_set *ret, uint64_t inodes, struct error *err);
/* A zeroed one may be closed, too. */
void file_set_close(struct file_set *wanted);

/* Whether the version has this inode and it is in the set. */
static inline bool file_set_has(const struct file_set *wanted, uint64_t ordinal)
{
	return ordinal && ordinal <= wanted->count && wanted->bits[ordinal / 64] >> ordinal % 64 & 1;
}

/* Adds an inode. False: the version has none with this ordinal. */
bool file_set_add(struct file_set *wanted, uint64_t ordinal);
/* Adds all that is below directories of the set. */
must_check int file_set_expand(struct file_set *wanted, const struct index *index, struct error *err);
/* Returns the first member from this ordinal on; 0: there is none. */
uint64_t file_set_next(const struct file_set *wanted, uint64_t ordinal);
