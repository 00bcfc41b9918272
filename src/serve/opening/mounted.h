/* SPDX-License-Identifier: MIT */
/* The mounted volume: whether what is read belongs to it, and is no older than what was seen. Any thread. */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"

/* Whether a superblock is of the volume that is mounted, and no older than those seen before it was read
 * (serve->newest then): a slot that cannot be read leaves an older one. -ESTALE when not. */
must_check int mounted_check(struct serve *serve, const struct superblock *super, uint64_t seen, struct error *err);
/* The volume's catalogue as it is now, checked so; of several members the newest that a mount may follow, see
 * catalogue_load_shown(). A mount begins with the newest of all. It was seen then, and what became of the open versions
 * is noted (generations_compare()). *ret_super also on failure: whose
 * catalogue was read, zeroed when none could be. */
must_check int mounted_read(struct serve *serve, struct superblock *ret_super, struct catalogue *ret,
			    struct error *err);
/* Whether it is of another volume; a zeroed one is of none. */
bool mounted_is_other(const struct serve *serve, const struct superblock *super);
/* Whether the volume has a newer one by now. */
bool mounted_is_outdated(struct serve *serve, const struct superblock *super);
