/* SPDX-License-Identifier: MIT */
/* Checks how much memory is left before an index is loaded: the kernel cannot reclaim a sealed memfd, so an index that
 * does not fit would bring the OOM killer and never an error. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* Checks that the machine and every control group of this process have `bytes` left, plus a reserve that stays free:
 * 1/spare of all its memory, but at least a small margin; spare 0: the margin. Otherwise -ENOMEM with the reason. */
must_check int headroom_check(uint64_t bytes, unsigned spare, struct error *err);
/* Bytes that the machine and every control group of this process have left, less that margin. */
uint64_t headroom_left(void);
