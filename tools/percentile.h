/* SPDX-License-Identifier: MIT */
/* Percentiles of the times that a mount counts in powers of two of a microsecond. */
#pragma once
#include <stdint.h>

#include "datasetfs/control.h"

/* In seconds, of share (0 to 1) of all, as if the times of a bucket were spread evenly in it. Of the last bucket, which
 * has no end, where it begins. NAN when nothing was counted. */
double percentile_of(const uint64_t buckets[DSFS_CONTROL_LATENCY_BUCKETS], double share);
