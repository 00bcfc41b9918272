/* SPDX-License-Identifier: MIT */
/* Which code for sums this CPU runs. */
#pragma once
#include "image/checksum_code.h"

/* The fastest one that it can run. A few instructions. */
const struct checksum_code *checksum_choose(void);
