/* SPDX-License-Identifier: MIT */
/* Rounds to multiples. */
#pragma once
#include <stdint.h>

static inline uint64_t round_up(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static inline uint64_t round_down(uint64_t n, uint64_t to)
{
	return n / to * to;
}
