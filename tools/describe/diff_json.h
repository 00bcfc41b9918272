/* SPDX-License-Identifier: MIT */
/* Prints what changed for programs. */
#pragma once
#include "diff.h"
#include "subject.h"

void diff_json(const struct subject *from, const struct subject *to, const struct diff *diff);
