/* SPDX-License-Identifier: MIT */
/* Finds how much of a volume each version uses alone, which is what its removal and a compaction give back. */
#pragma once
#include "list/space.h"

/* Sets own in the share of each version. Reads the indexes of all versions twice. */
must_check int own_measure(const struct volume *volume, struct list_space *space, struct error *err);
