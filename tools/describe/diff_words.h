/* SPDX-License-Identifier: MIT */
/* What kinds of changes are called, in text and JSON. */
#pragma once
#include "describe/diff.h"

const char *diff_words_title(enum diff_kind kind); /* for people */
const char *diff_words_key(enum diff_kind kind);
