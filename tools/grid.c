/* SPDX-License-Identifier: MIT */
/* Collects titles and cells as text, which libsmartcols lays out in lines. */
#include "grid.h"

#include <assert.h>
#include <libsmartcols.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/shown.h"
#include "text.h"

struct grid {
	struct libscols_table *table;
	enum grid_side sides[GRID_MOST];
	unsigned columns;
	bool has_titles;
	size_t texts; /* titles and cells that were begun */
	FILE *out;    /* the titles, then the cells row by row, each with a NUL behind it */
	char *text;
	size_t length;
};

/* A grid looks the same on a terminal and elsewhere: nothing is cut, folded, or shown as other bytes than
 * base/text/shown.c made of it. */
static void grid_set_up(struct libscols_table *table)
{
	scols_table_enable_noencoding(table, 1);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_column_separator(table, "  ");
}

int grid_new(struct grid **ret, struct error *err)
{
	auto_grid struct grid *grid = calloc(1, sizeof(*grid));

	if (!grid)
		return error_no_memory(err);
	grid->table = scols_new_table();
	grid->out = open_memstream(&grid->text, &grid->length);
	if (!grid->table || !grid->out)
		return error_no_memory(err);
	setlocale(LC_CTYPE, ""); /* libsmartcols counts the columns of characters by it */
	grid_set_up(grid->table);
	*ret = take_ptr(&grid);
	return 0;
}

void grid_free(struct grid *grid)
{
	if (!grid)
		return;
	if (grid->out)
		fclose(grid->out);
	scols_unref_table(grid->table);
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
	return fclose(out) ? error_no_memory(err) : 0;
}

static bool grid_add_column(struct grid *grid, unsigned number, const char *title)
{
	static const int flags[] = { [GRID_RIGHT] = SCOLS_FL_RIGHT, [GRID_BELOW] = SCOLS_FL_HIDDEN };

	return scols_table_new_column(grid->table, title, 0, flags[grid->sides[number]]);
}

/* Hands the texts to libsmartcols. False: no memory. */
static bool grid_fill(struct grid *grid)
{
	const char *at = grid->text;
	struct libscols_line *line = NULL;
	bool good = true;

	for (size_t i = 0; good && i < grid->texts; i++, at += strlen(at) + 1) {
		size_t column = i % grid->columns;

		if (i < grid->columns) {
			good = grid_add_column(grid, (unsigned)column, at);
			continue;
		}
		if (column == 0)
			line = scols_table_new_line(grid->table, NULL);
		good = line && scols_line_set_data(line, column, at) == 0;
	}
	return good;
}

static void grid_print_line(const char *line, unsigned indent)
{
	size_t length = strlen(line);

	while (length && line[length - 1] == ' ')
		length--;
	printf("%*s", (int)indent, "");
	fwrite(line, 1, length, stdout);
	putchar('\n');
}

/* Prints what belongs below the row. */
static void grid_print_below(const struct grid *grid, size_t row, unsigned indent)
{
	struct libscols_line *line = scols_table_get_line(grid->table, row);
	const char *text;

	for (unsigned i = 0; i < grid->columns; i++) {
		text = grid->sides[i] == GRID_BELOW ? scols_cell_get_data(scols_line_get_cell(line, i)) : NULL;
		if (text && *text)
			grid_print_line(text, indent + 8);
	}
}

static void grid_print_lines(const struct grid *grid, char *lines, unsigned indent)
{
	size_t rows = scols_table_get_nlines(grid->table);

	if (grid->has_titles)
		grid_print_line(strsep(&lines, "\n"), indent);
	for (size_t i = 0; i < rows && lines; i++) {
		grid_print_line(strsep(&lines, "\n"), indent);
		grid_print_below(grid, i, indent);
	}
}

int grid_print(struct grid *grid, unsigned indent, struct error *err)
{
	auto_free char *lines = NULL;
	int r = grid_end_text(grid, err);

	if (r < 0)
		return r;
	if (!grid_fill(grid))
		return error_no_memory(err);
	scols_table_enable_noheadings(grid->table, !grid->has_titles);
	if (scols_table_get_nlines(grid->table) == 0)
		return 0;
	if (scols_print_table_to_string(grid->table, &lines) != 0)
		return error_no_memory(err);
	grid_print_lines(grid, lines, indent);
	return 0;
}
