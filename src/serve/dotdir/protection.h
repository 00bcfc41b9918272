/* SPDX-License-Identifier: MIT */
/* Reports how well copies protect the served version, and how much of it has only one copy left. */
#pragma once
#include <stdbool.h>

#include "base/text/json.h"
#include "serve/serve.h"

struct protection_report {
	unsigned protected_percent, single_percent; /* see DSFS_CONTROL_PROTECTION */
	bool is_degraded;
	char degraded[256]; /* why it is degraded, in words */
};

/* Makes the report. False: the volume has one member. Call it in a section. */
bool protection_look(struct serve *serve, struct protection_report *ret);
/* Writes the report as an object; null for a volume of one member. Call it in a section. */
void protection_write(struct serve *serve, struct json *json);
