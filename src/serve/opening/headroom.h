/* SPDX-License-Identifier: MIT */
/* How much memory is left, and whether that is enough for an index: the kernel cannot reclaim a sealed memfd, so what
 * does not fit ends in the OOM killer and never in an error. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* -ENOMEM with the reason when the machine, or a control group of this process, has not so many bytes left, beside one
 * part in so many of all its memory that stays free; spare 0: beside a small margin. */
must_check int headroom_check(uint64_t bytes, unsigned spare, struct error *err);
/* Bytes that the machine and all these groups have left, beside that margin. */
uint64_t headroom_left(void);
