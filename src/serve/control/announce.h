/* SPDX-License-Identifier: MIT */
/* What the kernel must forget before a switch returns: names, and what it has cached of the root. */
#pragma once
#include "serve/serve.h"

/* On return no answer by the old version to a request by a path is on its way, and the kernel remembers no name of
 * it. */
must_check int announce_switch(struct serve *serve, struct generation *old, struct generation *new, struct error *err);
