/* SPDX-License-Identifier: MIT */
/* Prints the changes between two versions for people. */
#pragma once
#include "describe/common/chart.h"
#include "describe/common/subject.h"
#include "describe/diff/diff.h"

must_check int diff_text(const struct chart *chart, const struct subject *from, const struct subject *to,
			 const struct diff *diff, struct error *err);
