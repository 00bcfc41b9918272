/* SPDX-License-Identifier: MIT */
/* .datasetfs/stats.json: the counters of all workers, added up, and what is open. A new field: contrib/HACKING.md. */
#pragma once
#include "base/json.h"
#include "serve/serve.h"

void stats_write(struct serve *serve, struct json *json);
