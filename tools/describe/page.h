/* SPDX-License-Identifier: MIT */
/* Tables of files and bytes for people: with bars in a terminal, as wide as it is; plain elsewhere. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct page {
	unsigned width; /* columns of the terminal; 0: there is none */
	bool is_utf8;   /* the terminal's characters */
};

struct page_row {
	const char *name; /* any bytes */
	size_t length;
	uint64_t files, bytes;
};

/* Looks at standard output and the locale. */
void page_open(struct page *page);
/* Shares are those of all files; the longest bar is that of the row with most files. */
void page_table(const struct page *page, const char *title, const struct page_row *rows, size_t count,
		uint64_t all_files);
/* Of the last row of a table: how much is not shown. what: "folders". Nothing when more is 0. */
void page_more(uint64_t more, const char *what, uint64_t files, uint64_t bytes);
/* So many columns a name takes at most, as text_write() shows it. */
size_t page_columns(const void *name, size_t length);
