/* SPDX-License-Identifier: MIT */
/* xxHash, compiled once for each kind of CPU. The sums are the same. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "image/sums/checksum_key.h"

struct checksum_code {
	uint64_t (*sum_64)(const void *bytes, size_t length);
	uint64_t (*sum_64_pieces)(const struct iovec *pieces, int count);
	struct checksum_key (*sum_128)(const void *bytes, size_t length);
};

/* The baseline runs on every CPU of the architecture. The others exist on x86-64 if the C library describes the CPU. */
extern const struct checksum_code checksum_baseline, checksum_avx2, checksum_avx512;
