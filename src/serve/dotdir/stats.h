/* SPDX-License-Identifier: MIT */
/* .datasetfs/stats.json: what a mount reports of itself, and what is open. */
#pragma once
#include <stdint.h>

#include "base/json.h"
#include "serve/serve.h"

/* The state of a member of several: "ok", "suspect" or "missing". */
const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now);

void stats_write(struct serve *serve, struct json *json);
