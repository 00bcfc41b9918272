/* SPDX-License-Identifier: MIT */
/* The names of the kinds of changes, in text and JSON. */
#pragma once
#include "describe/diff.h"

const char *diff_words_title(enum diff_kind kind); /* for people */
const char *diff_words_key(enum diff_kind kind);
