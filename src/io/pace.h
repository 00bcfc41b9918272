/* SPDX-License-Identifier: MIT */
/* Holds back the reads of a program that works in the background, so that those who wait for the same devices hardly
 * notice it. Any thread may call these functions. */
#pragma once
#include <stdint.h>

#include "base/error.h"
#include "io/window.h"

/* Makes a window for such reads of a volume. bandwidth: the most bytes a second; 0: as much as other readers leave. */
must_check int pace_new(uint32_t members, uint64_t bandwidth, struct window **ret, struct error *err);
/* Waits until a read may begin, and returns when that was; 0, without a wait, after a signal
 * (base/program/interrupt.h). pace_end() must follow when the read has ended, with what pace_begin() returned; result:
 * bytes, or a negative errno. Both do nothing if pace is NULL, and pace_end() nothing if begun is 0. */
int64_t pace_begin(struct window *pace, uint64_t bytes);
void pace_end(struct window *pace, uint32_t member, uint64_t bytes, int64_t begun, int64_t result);
