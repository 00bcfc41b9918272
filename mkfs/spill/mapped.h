/* SPDX-License-Identifier: MIT */
/* Keeps an array of bytes that grows in a mapped temporary file, which the kernel may write out under memory pressure.
 * While it grows, bytes written long ago leave the process's memory. */
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
void mapped_close(struct mapped *mapped); /* a zeroed one may be closed, too */
/* Releases the process's memory of the array; the bytes stay in the file, and come back when they are touched. */
void mapped_rest(const struct mapped *mapped);
/* Makes the array at least length bytes long; new ones are zero. */
must_check int mapped_grow(struct mapped *mapped, uint64_t length, struct error *err);
/* Appends bytes, which must not lie in the array itself. */
must_check int mapped_append(struct mapped *mapped, const void *bytes, uint64_t length, uint64_t *ret_offset,
			     struct error *err);
