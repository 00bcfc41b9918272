/* SPDX-License-Identifier: MIT */
/* Finds out which attributes of two inodes differ. */
#pragma once
#include "base/error.h"
#include "image/index.h"
#include "image/inode.h"

enum {
	ATTRIBUTE_MODE = 1,
	ATTRIBUTE_OWNER = 2,
	ATTRIBUTE_MTIME = 4,
	ATTRIBUTE_XATTRS = 8,
	ATTRIBUTE_LINKS = 16, /* number of names */
};

/* Returns the name of bit number i; NULL past the last. */
const char *attributes_word(unsigned i);
/* Sets a bit for each attribute that differs. The size and link count of a directory follow from its contents and do
 * not count. */
must_check int attributes_compare(const struct index *a, const struct inode *x, const struct index *b,
				  const struct inode *y, unsigned *ret, struct error *err);
