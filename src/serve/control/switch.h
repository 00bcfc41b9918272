/* SPDX-License-Identifier: MIT */
/* Makes another version the current one of the mount. */
#pragma once
#include "serve/serve.h"

/* By the control thread. From the return on no request by a path through the mountpoint is answered by another
 * version, and the kernel remembers no name of one. */
must_check int switch_to(struct serve *serve, struct generation *generation, struct error *err);
