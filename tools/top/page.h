/* SPDX-License-Identifier: MIT */
/* The view as lines of text: a header, a row for each mount, and below them what is wrong with each. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "top/table.h"
#include "top/watch.h"

enum page_style { PAGE_PLAIN, PAGE_HEAD, PAGE_WRONG };

struct page_line {
	enum page_style style;
	char text[TABLE_LINE_SIZE];
};

struct page {
	struct page_line *lines;
	size_t count, room;
	size_t head; /* the first lines, above the rows */
};

struct page_wish {
	unsigned width;    /* columns */
	unsigned interval; /* seconds */
	enum table_sort sort;
	int64_t now; /* seconds since 1970 */
};

/* Also sorts the mounts. Replaces what the page held before. */
must_check int page_make(struct watch *watch, const struct page_wish *wish, struct page *page, struct error *err);
void page_free(struct page *page);
