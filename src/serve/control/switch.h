/* SPDX-License-Identifier: MIT */
/* Makes another version the current one of the mount. */
#pragma once
#include "serve/serve.h"

/* Switches the mount to an open version. After it succeeds no other version answers a request by a path through the
 * mountpoint, and the kernel remembers no name of another one. After an error the old version is served. Control thread
 * only. */
must_check int switch_to(struct serve *serve, struct generation *generation, struct error *err);
/* Finishes a switch that the former server's death interrupted: announces it once more. Control thread only. */
must_check int switch_finish(struct serve *serve, struct error *err);
