/* SPDX-License-Identifier: MIT */
/* Holds the words for kinds of changes. */
#include "describe/diff/diff_words.h"

static const struct {
	const char *title, *key;
} diff_words_kinds[DIFF_KINDS] = {
	[DIFF_ADDED] = { "added", "added" },
	[DIFF_REMOVED] = { "removed", "removed" },
	[DIFF_CHANGED] = { "changed", "changed" },
	[DIFF_MOVED] = { "moved", "moved" },
	[DIFF_METADATA] = { "attributes only", "metadata" },
	[DIFF_UNKNOWN] = { "not comparable: other chunk sizes", "unknown" },
	[DIFF_SAME] = { "unchanged", "unchanged" },
};

const char *diff_words_title(enum diff_kind kind)
{
	return diff_words_kinds[kind].title;
}

const char *diff_words_key(enum diff_kind kind)
{
	return diff_words_kinds[kind].key;
}
