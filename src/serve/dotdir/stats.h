/* SPDX-License-Identifier: MIT */
/* .datasetfs/stats.json: the counters of all workers, added up, and what is open. A new field: contrib/HACKING.md. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "serve/serve.h"

/* Values of the counter at this offset in struct counters: the sum over all threads, */
uint64_t stats_sum(const struct serve *serve, size_t offset);
/* that of the thread that reads ahead of walkers, */
uint64_t stats_ahead(const struct serve *serve, size_t offset);
/* and that of the thread that reads files users announce. */
uint64_t stats_wishes(const struct serve *serve, size_t offset);
/* When a read last failed for good, and when one of the device failed or a sum did not match: also those that clients
 * report. Seconds since 1970; 0: never. */
uint64_t stats_last_failure(const struct serve *serve);
uint64_t stats_last_error(const struct serve *serve);
/* The state of a member of several: "ok", "suspect" or "missing". */
const char *stats_member_state(const struct serve *serve, uint32_t number, int64_t now);

void stats_write(struct serve *serve, struct json *json);
