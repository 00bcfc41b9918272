/* SPDX-License-Identifier: MIT */
/* How many mounts of a volume a machine may have for consumers: each is a daemon with an index in memory. */
#pragma once
#include "attach/key.h"

/* Checks that there is room for one more mount, of the key of this name, whose folder and command are there already, so
 * that two who begin at a time see each other. -EUSERS: consumers chose the version, and there are too many. */
must_check int limit_check(int state, const char *name, const struct key *key, struct error *err);
