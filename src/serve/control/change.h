/* SPDX-License-Identifier: MIT */
/* The way of a swap: open a version aside, make it the current one, tell the kernel, let go of the old one. All by one
 * thread, the control thread, but for change_open() before it runs, and change_visit(). */
#pragma once
#include <stdbool.h>

#include "serve/opening/visitor.h"
#include "serve/serve.h"

/* Which version is meant. */
struct change_wish {
	const char *label;   /* NULL or empty: see uuid */
	const uint8_t *uuid; /* also one that was removed, while it is open; NULL: the volume's current version */
	const struct visitor *visitor; /* for whom it is opened; NULL: for a switch */
};

/* Reads the catalogue anew, loads the version's index and verifies it, unless it is open, and puts it into the table. Again
 * when the index is not right and there is a newer superblock: a publisher may have moved on in between.
 * It stays open while it is current, prepared, or known to the kernel. */
must_check int change_open(struct serve *serve, const struct change_wish *wish, struct generation **ret,
			   struct error *err);
/* As change_open(), for a visitor of .datasetfs/versions, by the thread of visits: a lookup of *ret is counted. 1: the catalogue
 * cannot be read, err says why, and *ret is what is open under that label. */
must_check int change_visit(struct serve *serve, const char *label, const struct visitor *visitor, struct generation **ret,
			    struct error *err);
/* Whether a superblock is of the volume that is mounted, and no older than those seen before it was read (serve->newest then):
 * a slot that cannot be read leaves an older one. -ESTALE when not. Any thread. */
must_check int change_check_super(struct serve *serve, const struct superblock *super, uint64_t seen, struct error *err);
/* The volume's catalogue as it is now, checked so. *ret_super also on failure: whose catalogue was read, zeroed when none could
 * be. Any thread. */
must_check int change_read(struct serve *serve, struct superblock *ret_super, struct catalogue *ret, struct error *err);
/* Whether it is of another volume; a zeroed one is of none. */
bool change_is_other(const struct serve *serve, const struct superblock *super);
/* From the return on no request by a path through the mountpoint is answered by another version, and the kernel
 * remembers no name of one. fd: the mount's. */
must_check int change_to(struct serve *serve, int fd, struct generation *generation, struct error *err);
/* What the kernel knows of a version that was left is out of sight, but the version can be closed only without it. So it is swept
 * (sweep.h) at once and, while something is known, again: a second later, then less often. Begins what is due and returns
 * when to call it again, ns, monotonic; 0: not before a sweep or a change ends. */
int64_t change_sweep(struct serve *serve);
