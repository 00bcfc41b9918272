/* SPDX-License-Identifier: MIT */
/* Prints tables of files and bytes for people: with bars and as wide as the terminal if there is one, plain
 * otherwise. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct chart {
	unsigned width; /* columns of the terminal; 0: there is none */
	bool is_utf8;   /* the terminal shows UTF-8 */
};

struct chart_row {
	const char *name; /* any bytes */
	size_t length;
	uint64_t files, bytes;
};

/* Sets width and is_utf8 from standard output and the locale. */
void chart_open(struct chart *chart);
/* Prints a table of rows. Shares are of all_files; the row with most files has the longest bar. */
must_check int chart_table(const struct chart *chart, const char *title, const struct chart_row *rows, size_t count,
			  uint64_t all_files, struct error *err);
/* Prints a last row that says how many rows are not shown; nothing if more is 0. what: the rows in words, as
 * "folders". */
void chart_more(uint64_t more, const char *what, uint64_t files, uint64_t bytes);
