/* SPDX-License-Identifier: MIT */
/* Numbers that are the same for a seed on every machine (splitmix64). */
#pragma once
#include <math.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static inline uint32_t random_below(struct random *random, uint32_t end)
{
	return (uint32_t)((random_next(random) >> 32) * end >> 32);
}

/* Exponentially distributed, of mean 1. */
static inline double random_wait(struct random *random)
{
	return -log(((double)(random_next(random) >> 11) + 1) / 9007199254740993.0);
}
