/* SPDX-License-Identifier: MIT */
/* Checks how much memory is left before an index is loaded: the kernel cannot reclaim a sealed memfd, so an index that
 * does not fit would wake the OOM killer instead of failing with an error. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Checks that the machine and every control group of this process have `bytes` left, plus a reserve that must stay
 * free: 1/spare of its memory, but at least a small margin; spare 0: only the margin. -ENOMEM: too little is left. */
must_check int headroom_check(uint64_t bytes, unsigned spare, struct error *err);
/* Returns the bytes that the machine and every control group of this process have left, less a small margin. */
uint64_t headroom_left(void);
