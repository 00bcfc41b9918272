/* SPDX-License-Identifier: MIT */
/* A listing in the form that the kernel expects. The position after an entry is its number in the directory + 3: "."
 * is 1, ".." 2, and entry 0 leads to 3. So a position stays valid as long as the version exists. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "fuse/channel.h"

/* A listing being put into a request's payload. */
struct dirlist {
	uint8_t *out;
	size_t used, size;
	uint64_t offset; /* where the request starts */
	uint64_t first;  /* entry number to start with after the dots */
	bool plus;       /* READDIRPLUS: each entry with its attributes */
};

void dirlist_begin(struct dirlist *list, const struct channel_request *request);
/* Both false when there is no room; then the listing is as long as it gets. */
must_check bool dirlist_add_dots(struct dirlist *list, uint64_t self, uint64_t parent);
/* entry: what LOOKUP would say; NULL for a name that is not to be known by this (and in a plain listing). */
must_check bool dirlist_add(struct dirlist *list, uint64_t number, uint64_t ino, uint8_t type, const char *name,
			    size_t length, const struct fuse_entry_out *entry);
