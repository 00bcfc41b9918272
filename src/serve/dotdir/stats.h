/* SPDX-License-Identifier: MIT */
/* .datasetfs/stats.json: the numbers that a mount reports of itself, its options, members and open versions. */
#pragma once
#include <stdint.h>

#include "base/text/json.h"
#include "serve/serve.h"

/* The state of a member of several: "ok", "suspect" or "missing". */
const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now);

/* Writes the content of the file. Call it in a section. */
void stats_write(struct serve *serve, struct json *json);
