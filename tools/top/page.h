/* SPDX-License-Identifier: MIT */
/* Makes the view as lines of text: a header, a row for each mount, and below them the problems of each. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "mounts/watch.h"
#include "top/table.h"

enum page_style { PAGE_PLAIN, PAGE_HEAD, PAGE_WRONG };

struct page_line {
	enum page_style style;
	char text[TABLE_LINE_SIZE];
};

struct page {
	struct page_line *lines;
	size_t count, room;
	size_t head; /* number of lines above the rows */
};

struct page_query {
	unsigned width;    /* columns */
	unsigned interval; /* seconds */
	enum table_sort sort;
	int64_t now; /* seconds since 1970 */
};

/* Makes the page, replacing its former lines. Also sorts the mounts. */
must_check int page_make(struct watch *watch, const struct page_query *query, struct page *page, struct error *err);
void page_free(struct page *page);
