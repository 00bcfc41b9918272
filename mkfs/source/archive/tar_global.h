/* SPDX-License-Identifier: MIT */
/* Applies the global headers of PAX archives, which libarchive skips: attributes for all entries that follow. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAR_GLOBAL_REASON 200u

enum tar_global_key { TAR_GLOBAL_UID, TAR_GLOBAL_GID, TAR_GLOBAL_MTIME, TAR_GLOBAL_KEYS };

/* Attributes that hold until the next global header, or the end of the archive. */
struct tar_global {
	bool has[TAR_GLOBAL_KEYS];
	int64_t value[TAR_GLOBAL_KEYS];
	uint32_t nanoseconds; /* of the mtime */
	bool is_volume;       /* the archive begins with the rest of a file of another one */
	char reason[TAR_GLOBAL_REASON];
};

/* Reads the headers in front of an entry and takes over global ones. ret_holds: for each key, whether its value holds
 * for the entry, which does not say otherwise. Returns 0, or -1 with a reason. */
int tar_global_walk(struct tar_global *global, const uint8_t *headers, size_t length, bool *ret_holds);
