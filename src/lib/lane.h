/* SPDX-License-Identifier: MIT */
/* What one thread at a time uses of an opened version: its view of the names, its engine, its buffers. A thread gets
 * the lane again that it used before. A forked child makes lanes of its own and leaves its parent's alone. */
#pragma once
#include "image/names.h"
#include "lib/direct.h"
#include "read/read.h"

struct lane {
	struct direct *direct;
	struct names_reader *names;
	struct reader reader; /* with an engine, made for the first read */
};

must_check int lane_enter(struct direct *direct, struct lane **ret, struct error *err);
void lane_leave(struct lane *lane);
