/* SPDX-License-Identifier: MIT */
/* Chooses the checksum code for this CPU. */
#pragma once
#include "image/sums/checksum_code.h"

/* Returns the fastest code that the CPU can run. Costs a few instructions. */
const struct checksum_code *checksum_choose(void);
