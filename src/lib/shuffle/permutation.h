/* SPDX-License-Identifier: MIT */
/* A pseudo-random order of 0 … length - 1: each element is computed from its place and 6 √length random numbers. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "datasetfs/le.h"

#define PERMUTATION_KEY_MAX 512u /* bytes of a key at most */

/* A zeroed one is empty and may be freed. */
struct permutation {
	uint64_t length;
	uint64_t wide, high; /* of the grid that has a cell for each number, and at most 2 √length more */
	dsfs_le32 *numbers;  /* wide of them for each half of a round */
};

/* The same length and key give the same order, for ever: states of samplers depend on it. */
must_check int permutation_make(struct permutation *permutation, uint64_t length, const char *key, struct error *err);
/* place: less than length. */
uint64_t permutation_element(const struct permutation *permutation, uint64_t place);
/* Returns the place that has this element, which is less than length. */
uint64_t permutation_place(const struct permutation *permutation, uint64_t element);
void permutation_free(struct permutation *permutation);
