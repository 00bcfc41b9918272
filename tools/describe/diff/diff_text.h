/* SPDX-License-Identifier: MIT */
/* Prints the changes between two versions for people. */
#pragma once
#include "describe/diff/diff.h"
#include "describe/subject/chart.h"
#include "describe/subject/subject.h"

must_check int diff_text(const struct chart *chart, const struct subject *from, const struct subject *to,
			 const struct diff *diff, struct error *err);
