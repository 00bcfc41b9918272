/* SPDX-License-Identifier: MIT */
/* Computes percentiles of the times that a mount counts in powers of two of a microsecond. */
#pragma once
#include <stdint.h>

#include "datasetfs/control.h"

/* Returns the percentile, in seconds, for a share from 0 to 1, as if the times were spread evenly within each bucket;
 * in the last bucket, which has no end, its beginning. NAN if nothing was counted. */
double percentile_of(const uint64_t buckets[DSFS_CONTROL_LATENCY_BUCKETS], double share);
