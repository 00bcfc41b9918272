/* SPDX-License-Identifier: MIT */
/* Tells whether two files have the same content, without reading it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "image/index.h"
#include "image/inode.h"

/* Computes a key: for a regular file, a checksum over its size, the sums of its chunks and its holes; for a symlink,
 * over its target. If content_is_comparable(), files with the same content have the same key. */
must_check int content_key(const struct index *index, const struct inode *inode, uint64_t *ret, struct error *err);
/* Returns whether keys of files of this size can be compared. Versions with different chunk sizes have different sums,
 * so only their files of one chunk can. */
bool content_is_comparable(const struct index *a, const struct index *b, uint64_t size);
