/* SPDX-License-Identifier: MIT */
/* Prints what changed for people. */
#pragma once
#include "diff.h"
#include "page.h"
#include "subject.h"

void diff_text(const struct page *page, const struct subject *from, const struct subject *to, const struct diff *diff);
