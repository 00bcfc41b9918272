/* SPDX-License-Identifier: MIT */
/* Lays out the columns of the view: their content, their width, and which to drop in a narrow terminal. */
#pragma once
#include <stddef.h>

#include "mounts/watch.h"

#define TABLE_WIDTH_MIN 35 /* enough for the columns that are never dropped: mount, version, files and state */
#define TABLE_WIDTH_MAX 400
#define TABLE_LINE_SIZE (4 * TABLE_WIDTH_MAX + 1) /* bytes of a line in UTF-8, with the NUL */

/* Sort keys: the highest value first, or by name. */
enum table_sort {
	TABLE_FILES,
	TABLE_DATA,
	TABLE_LATENCY,
	TABLE_READS,
	TABLE_CPU,
	TABLE_STALLS,
	TABLE_MOUNT,
	TABLE_SORTS
};
extern const char *const table_sorts[TABLE_SORTS]; /* their names */

/* Writes one of the two lines above the rows: the names of columns (line 0) or their units (line 1). width: columns of
 * the terminal. */
void table_head(unsigned width, unsigned line, char text[TABLE_LINE_SIZE]);
void table_row(const struct watch_mount *mount, int64_t now, unsigned width, char text[TABLE_LINE_SIZE]);
/* Returns "ok", or the problem in one word. now: seconds since 1970. */
const char *table_state(const struct watch_mount *mount, int64_t now);
/* Makes any text safe to print, in at most this many columns. */
void table_cut(const char *words, unsigned width, char text[TABLE_LINE_SIZE]);
/* Compares mounts, for qsort_r(3) over pointers to them: mounts that give no answer come first. */
int table_compare(const void *a, const void *b, void *sort);
