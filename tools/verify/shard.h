/* SPDX-License-Identifier: MIT */
/* Parses "N/T", the N-th of T shards. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Parses the argument. *ret_shard counts from 0. */
must_check int shard_parse(const char *argument, uint32_t *ret_shard, uint32_t *ret_count, struct error *err);
