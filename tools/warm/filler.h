/* SPDX-License-Identifier: MIT */
/* The mount that fills the cache from which another mount of this machine reads. */
#pragma once
#include <stdbool.h>

/* Finds the mountpoint; the caller frees *ret. False: this mount does not follow another one, or that cannot be seen
 * from here, or does not answer. */
bool filler_find(const char *mount, char **ret);
