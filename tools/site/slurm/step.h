/* SPDX-License-Identifier: MIT */
/* The data sets of one step on its node: attached as the machine's, and bound in a mount namespace that the step has
 * for itself, so that other jobs do not see them and nothing is left when it is over. */
#pragma once
#include <sys/types.h>

#include "slurm/site.h"
#include "slurm/wish.h"

/* Gives the calling thread, and its later children, a mount namespace of its own and shows the data sets there. Mounts
 * that the machine makes later are seen in it. user: the job's, who must own a place, unless it is below a folder of
 * the site's. Does nothing if there are no wishes. Shows all of them, or none. */
must_check int step_attach(const struct site *site, const struct wishes *wishes, uid_t user, struct error *err);
/* Takes the first count of them away again, as far as that goes. */
must_check int step_detach(const struct site *site, const struct wishes *wishes, size_t count, struct error *err);
/* Clears away what steps of this machine have left that were killed. */
must_check int step_clear(const struct site *site, struct error *err);
/* Returns the number of the mount namespace that the calling thread has; 0: that cannot be seen. */
ino_t step_namespace(void);
