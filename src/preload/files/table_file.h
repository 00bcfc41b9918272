/* SPDX-License-Identifier: MIT */
/* Describes a file that is open past the mount. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "lib/lib.h"

struct dataset;

#define TABLE_PATH 384u  /* bytes; files with longer paths are the mount's */

/* The kernel's O_LARGEFILE, which it sets for each 64-bit process; the C library's header has 0. */
#ifdef __aarch64__
#define TABLE_LARGEFILE 0400000
#else
#define TABLE_LARGEFILE 0100000
#endif

/* An open file. Only offset, contents and is_lost ever change. */
struct table_file {
	const struct dataset *dataset;
	struct opened *opened; /* with a use counted: the version stays whatever the mount switches to */
	uint64_t id, size;
	int flags;    /* of open(2) */
	bool is_real; /* --compat: the descriptor is the mount's, and so is the offset */
	bool is_lost; /* it could not be made real: reads of it fail */
	char below[TABLE_PATH]; /* path from the root of the data set */
	uint64_t offset;
	uint8_t *contents; /* size bytes; NULL: not read, or read straight into the program's buffer */
};
