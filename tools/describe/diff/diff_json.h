/* SPDX-License-Identifier: MIT */
/* Prints the changes between two versions for programs. */
#pragma once
#include "describe/common/subject.h"
#include "describe/diff/diff.h"

void diff_json(const struct subject *from, const struct subject *to, const struct diff *diff);
