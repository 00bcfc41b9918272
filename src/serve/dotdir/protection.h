/* SPDX-License-Identifier: MIT */
/* How well the version that is served is protected by copies, and how well it is now. */
#pragma once
#include <stdbool.h>

#include "base/json.h"
#include "serve/serve.h"

struct protection_report {
	unsigned protected_percent, single_percent; /* see DSFS_CONTROL_PROTECTION */
	bool is_degraded;
	char degraded[256]; /* why, in words */
};

/* False: the volume has one member. */
bool protection_look(struct serve *serve, struct protection_report *ret);
/* An object; null for a volume of one member. */
void protection_write(struct serve *serve, struct json *json);
