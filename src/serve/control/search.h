/* SPDX-License-Identifier: MIT */
/* Finds out whether the kernel knows any node of a version, if the number of names that it holds of it is unknown. */
#pragma once
#include "serve/serve.h"

/* Asks the kernel for one node after the other, first for the one that it knew last time, and ends with the first that
 * it knows. If it knows none, sets generation->searched, so that the version is closed unless it is current or a name
 * of it went out meanwhile. Sets nothing if it was cancelled. For the thread that prunes. */
void search_version(struct serve *serve, struct generation *generation, const _Atomic bool *is_cancelled);
