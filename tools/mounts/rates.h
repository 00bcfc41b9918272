/* SPDX-License-Identifier: MIT */
/* Computes the activity of a mount between two looks at its counters. */
#pragma once
#include <stdint.h>

#include "mounts/reported.h"

/* Percentiles of the latency of READ requests. */
enum rates_percentile { RATES_P50, RATES_P90, RATES_P99, RATES_P999, RATES_PERCENTILES };

/* Differences of counters and quotients of these; a quotient is NAN if the divisor is zero. */
struct rates {
	double seconds;        /* between the two looks, by the daemon's clock; 0: there was no first look */
	uint64_t files, bytes; /* through the mount and past it */
	uint64_t mount_files;  /* through the mount only: the files for which the daemon used reads and CPU time */
	uint64_t reads, held, device_bytes, errors; /* held: reads that waited; errors: reads of files that failed */
	uint64_t local;        /* reads that the cache on the machine had, instead of the volume */
	uint64_t stalls;
	double cpu; /* seconds of the daemon */
	double files_per_second, bytes_per_second, device_bytes_per_second;
	double reads_per_file, cpu_per_file; /* cpu: seconds */
	double held_per_read;
	double local_per_read;  /* of all reads, of the volume and of the cache */
	double latency[RATES_PERCENTILES];   /* seconds */
};

/* Computes the rates. before: NULL for the first look. If the daemon was restarted in between, counts from 0. */
void rates_between(const struct reported_stats *before, const struct reported_stats *after, struct rates *ret);
