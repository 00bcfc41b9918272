/* SPDX-License-Identifier: MIT */
/* Checks an LMDB file page by page before LMDB sees it, because LMDB trusts its file and we do not trust publishers. */
#pragma once
#include "base/error.h"
#include "base/span.h"

/* Checks one record with a key longer than DSFS_KEY_PARENT. */
typedef int names_check_record(void *argument, struct span key, struct span value, struct error *err);

/* Checks that every page is in bounds, of its type, numbered correctly, referenced once and at the tree's depth, and
 * that keys ascend; calls each() for the records in the order of their keys until it fails. */
must_check int names_check(struct span file, names_check_record *each, void *argument, struct error *err);
