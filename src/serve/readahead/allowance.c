/* SPDX-License-Identifier: MIT */
/* Reads under way get a quarter of the memory, or what files leave of it if that is more. */
#include "serve/readahead/allowance.h"

#include "read/op.h"

#define ALLOWANCE_READS 4u /* reads under way get 1/ALLOWANCE_READS of the memory */

struct allowance allowance_of(uint64_t memory, uint64_t most, unsigned reads)
{
	uint64_t part = memory / ALLOWANCE_READS, rest = memory > most ? memory - most : 0, scratch, left;
	uint64_t fit = (part > rest ? part : rest) / READ_SCRATCH;
	struct allowance allowance = { .reads = fit > reads ? reads : fit ? (unsigned)fit : 1 };

	scratch = (uint64_t)allowance.reads * READ_SCRATCH;
	left = memory > scratch ? memory - scratch : 0;
	if (left >= READ_MAX)
		allowance.kept = left < most ? left : most;
	return allowance;
}
