/* SPDX-License-Identifier: MIT */
/* The key of some content: equal content has an equal key. */
#pragma once
#include <stdint.h>

struct checksum_key {
	uint64_t low, high;
};
