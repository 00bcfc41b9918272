/* SPDX-License-Identifier: MIT */
/* Opens paths beneath a directory, and refuses to leave it: the author or the server of the tree may be hostile. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* Returns a descriptor, closed on exec. flags: of open(2), for reading or O_PATH. follow: follows symbolic links that
 * stay beneath root; otherwise a link on the way is -ELOOP, and the last component is treated as O_NOFOLLOW says.
 * -EXDEV: the path leads out, or to another mount. Paths may be longer than PATH_MAX. */
must_check int beneath_open(int root, const char *path, int flags, bool follow, struct error *err);
