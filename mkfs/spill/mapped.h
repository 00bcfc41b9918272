/* SPDX-License-Identifier: MIT */
/* An array of bytes that grows in a mapped temporary file: the kernel may write it out under memory pressure. While it
 * grows, what was written long ago leaves the process's memory. */
#pragma once
#include <stdint.h>

#include "spill/temp.h"

struct mapped {
	const struct temp *temp;
	int fd;
	uint8_t *bytes; /* moves when the array grows */
	uint64_t length;
	uint64_t capacity;
};

must_check int mapped_open(struct mapped *mapped, const struct temp *temp, struct error *err);
void mapped_close(struct mapped *mapped); /* a zeroed one as well */
/* The bytes leave the process's memory until they are touched again; they stay in the file. */
void mapped_rest(const struct mapped *mapped);
/* At least length bytes; new ones are zero. */
must_check int mapped_grow(struct mapped *mapped, uint64_t length, struct error *err);
/* bytes may not lie in the array itself. */
must_check int mapped_append(struct mapped *mapped, const void *bytes, uint64_t length, uint64_t *ret_offset,
			     struct error *err);
