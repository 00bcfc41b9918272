/* SPDX-License-Identifier: MIT */
/* Another version becomes the current one. */
#pragma once
#include "serve/serve.h"

/* By the control thread. From the return on no request by a path through the mountpoint is answered by another
 * version, and the kernel remembers no name of one. */
must_check int switch_to(struct serve *serve, struct generation *generation, struct error *err);
