/* SPDX-License-Identifier: MIT */
/* Computes how much may be read ahead with the memory available for it. */
#pragma once
#include <stdint.h>

struct allowance {
	uint64_t kept;  /* bytes for files, including those being read; 0: nothing may be read */
	unsigned reads; /* reads in flight, each with READ_SCRATCH bytes of its own; at least 1 */
};

/* Divides `memory` bytes between files, which get up to `most` bytes, and the scratch memory of up to `reads` reads in
 * flight. */
struct allowance allowance_of(uint64_t memory, uint64_t most, unsigned reads);
