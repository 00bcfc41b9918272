/* SPDX-License-Identifier: MIT */
/* The headers in front of an entry of a tar: what a global one says is possible, and a failure has a reason. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "source/archive/tar_global.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct tar_global global = { 0 };
	bool holds[TAR_GLOBAL_KEYS];
	uint8_t *copy = malloc(length ? length : 1); /* of this length, so that a sanitizer finds its end */

	if (!copy)
		return 0;
	memcpy(copy, bytes, length);
	if (tar_global_walk(&global, copy, length, holds) < 0 ? !global.reason[0] : global.nanoseconds > 999999999)
		__builtin_trap();
	for (unsigned key = 0; key < TAR_GLOBAL_KEYS; key++)
		if (holds[key] && !global.has[key])
			__builtin_trap();
	free(copy);
	return 0;
}
