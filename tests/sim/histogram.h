/* SPDX-License-Identifier: MIT */
/* How many reads took how long, 32 steps for each doubling: what it answers is right to 3 %. */
#pragma once
#include <stdint.h>

#define HISTOGRAM_STEPS 32u

struct histogram {
	uint64_t counts[64 * HISTOGRAM_STEPS];
	uint64_t total;
};

void histogram_add(struct histogram *histogram, int64_t took); /* ns */
/* ns that this part of all took at most; 0 without any. */
int64_t histogram_at(const struct histogram *histogram, double part);
/* The part of all that took longer. */
double histogram_over(const struct histogram *histogram, int64_t took);
