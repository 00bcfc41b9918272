/* SPDX-License-Identifier: MIT */
/* What a lane reads and what goes wrong, and that the daemon of the mount hears of it: the reads do not pass it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct lane;

/* A read of the caller's has ended, with this many bytes or a negative errno. */
void tally_count(struct lane *lane, int64_t result);
/* Tells what is new: at once when something went wrong, else now and then, or when it is the last time. */
void tally_tell(struct lane *lane, bool is_last);
