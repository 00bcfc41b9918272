/* SPDX-License-Identifier: MIT */
/* Finds the changes from one version to another: counts them by kind, and lists the first changes of each kind. */
#pragma once
#include "base/error.h"
#include "describe/common/subject.h"

enum diff_kind {
	DIFF_ADDED,
	DIFF_REMOVED,
	DIFF_CHANGED,
	DIFF_MOVED,
	DIFF_METADATA,
	DIFF_UNKNOWN, /* same size, but cut into chunks of different sizes */
	DIFF_SAME,
	DIFF_KINDS
};

struct diff_item {
	char *path, *to;     /* to: new path of a moved file */
	size_t length, to_length;
	uint32_t mode, former_mode; /* file type; former_mode: the old type */
	uint64_t size, former_size; /* size of a regular file, else 0 */
	unsigned what;       /* ATTRIBUTE_MODE and so on */
};

struct diff_count {
	uint64_t files, bytes, directories, symlinks;
	uint64_t former_bytes;   /* former size of changed files */
	struct diff_item *items; /* in the order of paths, at most as many as the limit */
	size_t count;
};

struct diff {
	struct diff_count kinds[DIFF_KINDS];
};

must_check int diff_run(const struct subject *from, const struct subject *to, struct diff **ret, struct error *err);
void diff_free(struct diff *diff);
