/* SPDX-License-Identifier: MIT */
/* Computes how much may be read ahead in the memory that there is for it. */
#pragma once
#include <stdint.h>

struct allowance {
	uint64_t kept;  /* bytes for files, including those being read; 0: nothing may be read */
	unsigned reads; /* reads at a time, each with READ_SCRATCH bytes of its own; 1 at least */
};

/* Divides `memory` bytes between files, which get up to `most` bytes, and up to `reads` reads at a time. */
struct allowance allowance_of(uint64_t memory, uint64_t most, unsigned reads);
