/* SPDX-License-Identifier: MIT */
/* Counts the symlinks that lead out of the source: they are packed as they are, and may dangle in a mount. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct outward {
	uint64_t count;
	char example[256]; /* the first: "'path' to 'target'", shortened */
};

/* Looks at the symlink in the directory, whose path is relative to the source. */
void outward_look(struct outward *outward, const char *directory, const char *name, const char *target);
