/* SPDX-License-Identifier: MIT */
/* Uses the CPU features that the C library read at start-up: asking again takes 4 us under a hypervisor. */
#include "image/sums/checksum_choose.h"

#include <sys/platform/x86.h>

const struct checksum_code *checksum_choose(void)
{
	if (CPU_FEATURE_ACTIVE(AVX512F))
		return &checksum_avx512;
	return CPU_FEATURE_ACTIVE(AVX2) ? &checksum_avx2 : &checksum_baseline;
}

bool checksum_choose_lacks_sha256(void)
{
	return !CPU_FEATURE_ACTIVE(SHA);
}
