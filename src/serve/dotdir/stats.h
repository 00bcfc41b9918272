/* SPDX-License-Identifier: MIT */
/* .datasetfs/stats.json: the numbers that a mount reports about itself, its options, members and open versions. */
#pragma once
#include <stdint.h>

#include "base/text/json.h"
#include "serve/serve.h"

/* The state of a member of a volume of several members: "ok", "suspect" or "missing". now: ns, monotonic. */
const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now);

/* Writes the content of the file. Call it in a section. */
void stats_write(struct serve *serve, struct json *json);
