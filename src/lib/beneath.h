/* SPDX-License-Identifier: MIT */
/* Opens what lies beneath a directory, and nothing else: whoever made the tree, or serves it, may lead elsewhere. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* Returns a descriptor, closed on exec. flags: of open(2), for reading or O_PATH. follow: symbolic links, as long as
 * they stay beneath root; otherwise one on the way is -ELOOP, and at the end as O_NOFOLLOW says. -EXDEV: the path leads
 * out, or to another mount. Paths may be longer than PATH_MAX. */
must_check int beneath_open(int root, const char *path, int flags, bool follow, struct error *err);
