/* SPDX-License-Identifier: MIT */
/* A file that is open past the mount. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lib/lib.h"

struct dataset;

#define TABLE_PATH 384u  /* bytes; files with longer paths too */

/* O_LARGEFILE of the kernel, which sets it for each process of 64 bits; the C library's header has 0. */
#ifdef __aarch64__
#define TABLE_LARGEFILE 0400000
#else
#define TABLE_LARGEFILE 0100000
#endif

/* What is open; but for the offset and the contents it stays as it is. */
struct table_file {
	const struct dataset *dataset;
	struct opened *opened; /* a use of it: the version stays whatever the mount switches to */
	uint64_t id, size;
	int flags;    /* of open(2) */
	bool is_real; /* --compat: the descriptor is the mount's, and so is the offset */
	bool is_lost; /* it could not be made real: reads of it fail */
	char below[TABLE_PATH]; /* the path from the root of the data set on */
	uint64_t offset;
	uint8_t *contents; /* of size bytes; NULL: not read, or handed on when it was read */
};
