/* SPDX-License-Identifier: MIT */
/* Cleans the paths that others wrote: names in archives, lines of lists. */
#pragma once
#include "base/error.h"

/* Copies the path without empty components, ".", and the first components, as many as `strip` says. out has room for as
 * many bytes as the path. Refuses "..", which could lead out of the tree; where: "the archive", for the reason. Returns
 * how many components the path has, or -EINVAL. */
must_check int clean_path(const char *path, unsigned strip, const char *where, char *out, struct error *err);
