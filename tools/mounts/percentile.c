/* SPDX-License-Identifier: MIT */
/* Finds the bucket in which a share ends, and the place in it. */
#include "mounts/percentile.h"

#include <math.h>

/* Returns the µs at which the bucket begins; it ends where the next one begins. */
static double percentile_edge(unsigned bucket)
{
	return bucket ? (double)(UINT64_C(1) << (bucket - 1)) : 0;
}

double percentile_of(const uint64_t buckets[DSFS_CONTROL_LATENCY_BUCKETS], double share)
{
	double total = 0, before = 0, wanted, part;
	unsigned i;

	for (i = 0; i < DSFS_CONTROL_LATENCY_BUCKETS; i++)
		total += (double)buckets[i];
	if (total == 0)
		return NAN;
	wanted = share * total;
	for (i = 0; i < DSFS_CONTROL_LATENCY_BUCKETS - 1; i++) {
		part = buckets[i] ? (wanted - before) / (double)buckets[i] : INFINITY;
		if (part <= 1)
			return (percentile_edge(i) + part * (percentile_edge(i + 1) - percentile_edge(i))) / 1e6;
		before += (double)buckets[i];
	}
	return percentile_edge(i) / 1e6;
}
