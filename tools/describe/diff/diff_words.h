/* SPDX-License-Identifier: MIT */
/* Names the kinds of changes, in text and JSON. */
#pragma once
#include "describe/diff/diff.h"

const char *diff_words_title(enum diff_kind kind); /* returns a title for people */
const char *diff_words_key(enum diff_kind kind);   /* returns a key for JSON */
