/* SPDX-License-Identifier: MIT */
/* How much may be ahead of readers, in what memory there is for it. */
#pragma once
#include <stdint.h>

struct allowance {
	uint64_t kept;  /* bytes of files, also of those that are being read; 0: nothing may be read */
	unsigned reads; /* at a time, each with READ_SCRATCH bytes of its own; 1 at least */
};

/* memory: for all of it; most: bytes of files that were asked for; reads: at a time at most. */
struct allowance allowance_of(uint64_t memory, uint64_t most, unsigned reads);
