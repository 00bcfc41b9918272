/* SPDX-License-Identifier: MIT */
/* Computes differences of counters, and rates and percentiles from them. */
#include "mounts/rates.h"

#include <math.h>
#include <stddef.h>

#include "mounts/percentile.h"

static const double rates_shares[RATES_PERCENTILES] = { 0.5, 0.9, 0.99, 0.999 };

/* Counters only grow, except for what clients report: it shrinks when the daemon loses clients. */
static uint64_t rates_grown(uint64_t before, uint64_t after)
{
	return after > before ? after - before : 0;
}

static double rates_divided(double amount, double by)
{
	return by > 0 ? amount / by : NAN;
}

static void rates_latency(const struct reported_stats *before, const struct reported_stats *after, struct rates *rates)
{
	uint64_t grown[DSFS_CONTROL_LATENCY_BUCKETS];

	for (size_t i = 0; i < DSFS_CONTROL_LATENCY_BUCKETS; i++)
		grown[i] = rates_grown(before->read_latency[i], after->read_latency[i]);
	for (size_t i = 0; i < RATES_PERCENTILES; i++)
		rates->latency[i] = percentile_of(grown, rates_shares[i]);
}

static void rates_count(const struct reported_stats *before, const struct reported_stats *after, struct rates *rates)
{
	uint64_t past = rates_grown(before->client_files, after->client_files);

	rates->mount_files = rates_grown(before->files_served, after->files_served);
	rates->files = rates->mount_files + past;
	rates->bytes = rates_grown(before->bytes_served, after->bytes_served) +
		       rates_grown(before->bytes_stored, after->bytes_stored) +
		       rates_grown(before->client_bytes, after->client_bytes);
	rates->reads = rates_grown(before->device_reads, after->device_reads);
	rates->local = rates_grown(before->local_hits, after->local_hits);
	rates->held = rates_grown(before->held_reads, after->held_reads);
	rates->device_bytes = rates_grown(before->device_bytes, after->device_bytes);
	rates->errors = rates_grown(before->read_failures, after->read_failures) +
			rates_grown(before->client_read_failures, after->client_read_failures);
	rates->stalls = rates_grown(before->stalls, after->stalls);
	rates->cpu = after->cpu - before->cpu;
}

static void rates_divide(struct rates *rates)
{
	rates->files_per_second = rates_divided((double)rates->files, rates->seconds);
	rates->bytes_per_second = rates_divided((double)rates->bytes, rates->seconds);
	rates->device_bytes_per_second = rates_divided((double)rates->device_bytes, rates->seconds);
	rates->reads_per_file = rates_divided((double)rates->reads, (double)rates->mount_files);
	rates->held_per_read = rates_divided((double)rates->held, (double)rates->reads);
	rates->local_per_read = rates_divided((double)rates->local, (double)(rates->local + rates->reads));
	rates->cpu_per_file = rates_divided(rates->cpu, (double)rates->mount_files);
}

void rates_between(const struct reported_stats *before, const struct reported_stats *after, struct rates *ret)
{
	static const struct reported_stats none;
	struct rates rates = { 0 };

	if (!before)
		before = after;
	else if (before->pid != after->pid || before->uptime > after->uptime)
		before = &none;
	rates.seconds = after->uptime - before->uptime;
	if (before->restarts != after->restarts) /* the counters of another server began at 0 */
		before = &none;
	rates_count(before, after, &rates);
	rates_latency(before, after, &rates);
	rates_divide(&rates);
	*ret = rates;
}
