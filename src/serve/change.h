/* SPDX-License-Identifier: MIT */
/* The way of a swap: open a version aside, make it the current one, tell the kernel, let go of the old one. All by one
 * thread, the control thread, but for change_open() before it runs. */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"

/* Which version is meant. */
struct change_wish {
	const char *label;   /* NULL or empty: see uuid */
	const uint8_t *uuid; /* NULL: the volume's current version */
};

/* Reads the catalogue anew, loads the version's index and verifies it, unless it is open, and puts it into the table.
 * It stays open while it is current, prepared, or known to the kernel. */
must_check int change_open(struct serve *serve, const struct change_wish *wish, struct generation **ret,
			   struct error *err);
/* From the return on no request by a path through the mountpoint is answered by another version, and the kernel
 * remembers no name of one. fd: the mount's. */
must_check int change_to(struct serve *serve, int fd, struct generation *generation, struct error *err);
/* Makes the kernel drop what it remembers of the root's names of this version, so that it can be closed. */
void change_let_go(struct serve *serve, int fd, struct generation *generation);
/* Closes what is neither current, kept, nor known to the kernel. */
void change_retire(struct serve *serve, const struct generation *keep);
