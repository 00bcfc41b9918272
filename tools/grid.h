/* SPDX-License-Identifier: MIT */
/* Prints tables with columns as wide as their contents. */
#pragma once
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"

struct grid;

#define GRID_MOST 16 /* columns */

enum grid_side {
	GRID_LEFT,
	GRID_RIGHT, /* for numbers and sizes */
	GRID_BELOW, /* no column: an indented line of its own below the row, unless it is empty */
};

must_check int grid_new(struct grid **ret, struct error *err);
void grid_free(struct grid *grid); /* NULL does nothing */

/* Adds a column for each title, before the first cell. If all titles are empty, the table has no line of titles. */
#define grid_columns(GRID, SIDE, ...) grid_columns_of(GRID, SIDE, (const char *const[]){ __VA_ARGS__, NULL })
void grid_columns_of(struct grid *grid, enum grid_side side, const char *const *titles);
/* Begins the next cell of the row, or of the next row, and returns the stream for it, which is valid until the next
 * call here. Write no newline to it, and write text that others chose only through text.h or base/text/shown.h. */
FILE *grid_next(struct grid *grid);
/* Fills the next cell like text_print(). */
void grid_cell(struct grid *grid, const char *fmt, ...) printf_like(2, 3);
/* Fills the next cell with a name like text_write(). */
void grid_name(struct grid *grid, const void *bytes, size_t length);

/* Prints the table, each line indented by this many blanks; nothing if it has no row. Must be called once, as the last
 * call before grid_free(). */
must_check int grid_print(struct grid *grid, unsigned indent, struct error *err);

static inline void grid_free_ptr(struct grid **grid)
{
	grid_free(*grid);
}

#define auto_grid cleanup(grid_free_ptr)
