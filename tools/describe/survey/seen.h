/* SPDX-License-Identifier: MIT */
/* Keeps a set of 64-bit numbers, for input with many repetitions: it takes about 11 bytes for each number of its
 * capacity. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct seen {
	uint64_t *slots; /* 0: empty */
	uint64_t count;
	uint64_t factor; /* random and odd, so that no volume can choose numbers that collide */
	bool has_zero;
};

/* Makes an empty set with room for at most this many different numbers. */
must_check int seen_open(struct seen *seen, uint64_t most, struct error *err);
void seen_close(struct seen *seen); /* accepts a zeroed one */
/* Adds a number; returns whether it is new. */
bool seen_add(struct seen *seen, uint64_t number);
