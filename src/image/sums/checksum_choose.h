/* SPDX-License-Identifier: MIT */
/* Chooses the checksum code for this CPU, and tells which instructions it lacks. */
#pragma once
#include <stdbool.h>

#include "image/sums/checksum_code.h"

/* Returns the fastest code that the CPU can run. Costs a few instructions. */
const struct checksum_code *checksum_choose(void);
/* Whether the CPU is known to have no instructions for SHA-256. */
bool checksum_choose_lacks_sha256(void);
