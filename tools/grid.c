/* SPDX-License-Identifier: MIT */
/* Collects titles and cells as text, then measures the columns and prints the lines. */
#include "grid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/memstream.h"
#include "base/text/shown.h"
#include "text.h"

struct grid {
	enum grid_side sides[GRID_MOST];
	size_t widths[GRID_MOST]; /* known when the last cell is */
	unsigned columns;
	bool has_titles;
	size_t texts; /* titles and cells that were begun */
	FILE *out;    /* the titles, then the cells row by row, each with a NUL behind it */
	char *text;
	size_t length;
};

int grid_new(struct grid **ret, struct error *err)
{
	auto_grid struct grid *grid = calloc(1, sizeof(*grid));

	if (!grid)
		return error_no_memory(err);
	grid->out = memstream_open(&grid->text, &grid->length);
	if (!grid->out)
		return error_no_memory(err);
	*ret = take_ptr(&grid);
	return 0;
}

void grid_free(struct grid *grid)
{
	if (!grid)
		return;
	if (grid->out)
		fclose(grid->out);
	free(grid->text);
	free(grid);
}

FILE *grid_next(struct grid *grid)
{
	if (grid->texts++)
		putc(0, grid->out);
	return grid->out;
}

void grid_columns_of(struct grid *grid, enum grid_side side, const char *const *titles)
{
	for (; *titles; titles++) {
		assert(grid->columns < GRID_MOST && grid->texts == grid->columns);
		grid->sides[grid->columns++] = side;
		grid->has_titles = grid->has_titles || **titles;
		grid_cell(grid, "%s", *titles);
	}
}

void grid_cell(struct grid *grid, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	shown_print_list(grid_next(grid), fmt, ap);
	va_end(ap);
}

void grid_name(struct grid *grid, const void *bytes, size_t length)
{
	text_write(grid_next(grid), bytes, length);
}

/* ---- printing ---- */

static int grid_end_text(struct grid *grid, struct error *err)
{
	FILE *out = grid->out;

	assert(grid->columns && grid->texts % grid->columns == 0);
	putc(0, out);
	grid->out = NULL;
	return memstream_close(out, &grid->text, err);
}

static void grid_measure(struct grid *grid)
{
	const char *text = grid->text;
	size_t width, *widest;

	text_enter_locale();
	for (size_t i = 0; i < grid->texts; i++, text += strlen(text) + 1) {
		width = text_columns(text, strlen(text));
		widest = &grid->widths[i % grid->columns];
		*widest = width > *widest ? width : *widest;
	}
}

static void grid_print_line(const struct grid *grid, const char *text, unsigned indent)
{
	size_t blanks = indent, left;

	for (unsigned i = 0; i < grid->columns; i++, text += strlen(text) + 1) {
		if (grid->sides[i] == GRID_BELOW)
			continue;
		left = grid->widths[i] - text_columns(text, strlen(text));
		blanks += grid->sides[i] == GRID_RIGHT ? left : 0;
		if (*text)
			printf("%*s%s", (int)blanks, "", text);
		blanks = (*text ? 0 : blanks) + (grid->sides[i] == GRID_LEFT ? left : 0) + 2;
	}
	putchar('\n');
}

static void grid_print_below(const struct grid *grid, const char *text, unsigned indent)
{
	for (unsigned i = 0; i < grid->columns; i++, text += strlen(text) + 1)
		if (grid->sides[i] == GRID_BELOW && *text)
			printf("%*s%s\n", (int)indent + 8, "", text);
}

static const char *grid_next_row(const struct grid *grid, const char *text)
{
	for (unsigned i = 0; i < grid->columns; i++)
		text += strlen(text) + 1;
	return text;
}

int grid_print(struct grid *grid, unsigned indent, struct error *err)
{
	int r = grid_end_text(grid, err);
	const char *row;

	if (r < 0)
		return r;
	if (grid->texts == grid->columns)
		return 0;
	grid_measure(grid);
	if (grid->has_titles)
		grid_print_line(grid, grid->text, indent);
	row = grid_next_row(grid, grid->text);
	for (size_t i = grid->columns; i < grid->texts; i += grid->columns) {
		grid_print_line(grid, row, indent);
		grid_print_below(grid, row, indent);
		row = grid_next_row(grid, row);
	}
	return 0;
}
