/* SPDX-License-Identifier: MIT */
#include "histogram.h"

static unsigned histogram_step(uint64_t took)
{
	unsigned log;

	if (took < HISTOGRAM_STEPS)
		return (unsigned)took;
	log = 63u - (unsigned)__builtin_clzll(took); /* 5 at least */
	return (log - 4) * HISTOGRAM_STEPS + (unsigned)(took >> (log - 5)) % HISTOGRAM_STEPS;
}

/* The first that is in the next step. */
static int64_t histogram_end(unsigned step)
{
	unsigned log = step / HISTOGRAM_STEPS + 4;

	if (step < HISTOGRAM_STEPS)
		return step + 1;
	return (int64_t)((uint64_t)(HISTOGRAM_STEPS + step % HISTOGRAM_STEPS + 1) << (log - 5));
}

void histogram_add(struct histogram *histogram, int64_t took)
{
	histogram->counts[histogram_step(took > 0 ? (uint64_t)took : 0)]++;
	histogram->total++;
}

int64_t histogram_at(const struct histogram *histogram, double part)
{
	double wanted = part * (double)histogram->total;
	uint64_t seen = 0;
	unsigned step = 0;

	if (!histogram->total)
		return 0;
	for (; step < 64 * HISTOGRAM_STEPS - 1; step++) {
		seen += histogram->counts[step];
		if ((double)seen >= wanted)
			break;
	}
	return histogram_end(step);
}

double histogram_over(const struct histogram *histogram, int64_t took)
{
	uint64_t over = 0;

	for (unsigned step = histogram_step((uint64_t)took) + 1; step < 64 * HISTOGRAM_STEPS; step++)
		over += histogram->counts[step];
	return histogram->total ? (double)over / (double)histogram->total : 0;
}
