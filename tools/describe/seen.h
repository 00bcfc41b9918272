/* SPDX-License-Identifier: MIT */
/* A set of 64-bit numbers of which many come more than once: 11 bytes for each that may be in it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct seen {
	uint64_t *slots; /* 0: empty */
	uint64_t count;
	uint64_t factor; /* random and odd, so that no volume can choose numbers that meet in one place */
	bool has_zero;
};

/* For so many different numbers at most. */
must_check int seen_open(struct seen *seen, uint64_t most, struct error *err);
void seen_close(struct seen *seen); /* a zeroed one as well */
/* Whether it is new. */
bool seen_add(struct seen *seen, uint64_t number);
