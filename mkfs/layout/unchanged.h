/* SPDX-License-Identifier: MIT */
/* Copies from the trusted version the records of files that content/stat_cache.h found unchanged (--trust-mtime). */
#pragma once
#include "content/stat_cache.h"
#include "image/catalogue/block_sums.h"
#include "layout/holes.h"
#include "layout/share.h"
#include "layout/store.h"

struct unchanged {
	const struct stat_cache *stat_cache; /* of the trusted version; NULL: every file is read */
	struct block_sums_view *block_sums;  /* of its block checksums; NULL: it has none */
	bool block_sums_failed;              /* some could not be read, and a warning said so */
	struct holes *holes;
	struct store *store;
	struct share *share;
};

/* Copies the records of an unchanged file. *ret is its inode, with where leading to the copies. */
must_check int unchanged_copy(struct unchanged *unchanged, const struct item *item, struct inode *ret,
			      uint64_t *ret_hole_bytes, struct error *err);
