/* SPDX-License-Identifier: MIT */
/* A listing as the kernel expects it. The offset after an entry is its number in the directory + 3; it is 1 after "."
 * and 2 after "..". So an offset stays valid as long as the version exists. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"
#include "fuse/channel.h"

/* A listing that is being written into a request's payload. */
struct dirlist {
	uint8_t *out;
	size_t used, size;
	uint64_t offset; /* offset that the request asks for */
	uint64_t first;  /* number of the first entry to add after the dots */
	bool plus;       /* READDIRPLUS: each entry has its attributes */
};

/* Begins an empty listing in the request's payload. */
void dirlist_begin(struct dirlist *list, const struct channel_request *request);
/* Adds "." and "..", unless the offset is past them. False: there is no room, and the listing is complete. */
must_check bool dirlist_add_dots(struct dirlist *list, uint64_t self, uint64_t parent);
/* Adds the entry with this number. entry: the answer to a LOOKUP of it; NULL: the kernel gets no node (always so for
 * READDIR). False: there is no room, and the listing is complete. */
must_check bool dirlist_add(struct dirlist *list, uint64_t number, uint64_t ino, uint8_t type, struct span name,
			    const struct fuse_entry_out *entry);
