/* SPDX-License-Identifier: MIT */
/* Reads the user.* attributes of a file and encodes them as the volume stores them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "source/filter.h"

/* Ends the reason of attributes that do not fit. */
#define XATTRS_HINT ": --no-xattrs or --xattrs-exclude leaves attributes out"

/* The user.* attributes to pack. A zeroed one packs all, but for metadata, which no source can give. */
struct xattrs_wanted {
	bool none;
	struct filter *include; /* if it has patterns, a name must match one */
	struct filter *exclude; /* and it must match none of these */
};

/* Appends a pattern to one of the filters, in which a star stands for slashes too. */
must_check int xattrs_add_pattern(struct filter **filter, const char *pattern, struct error *err);
void xattrs_wanted_close(struct xattrs_wanted *wanted);
bool xattrs_wants_all(const struct xattrs_wanted *wanted);
/* Returns whether to pack the attribute, which need not be one of user.*. Never DSFS_VERSION_ATTRIBUTE: it tells of the
 * version that the source is a mount of, or a copy. */
bool xattrs_wants(const struct xattrs_wanted *wanted, const char *name);
/* Reads the attributes of path, without following symlinks, or of the open file fd if path is NULL. The caller frees
 * *ret_set, which is NULL if there are none. The error does not name the file. */
must_check int xattrs_read(int fd, const char *path, const struct xattrs_wanted *wanted, uint8_t **ret_set,
			   uint32_t *ret_length, struct error *err);
