/* SPDX-License-Identifier: MIT */
/* Writes tables with bars to standard output. */
#include "describe/common/chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text/format.h"
#include "base/utf8.h"
#include "grid.h"
#include "text.h"

#define CHART_FIXED 35u /* columns of a row without its bar and its name, at most, unless it has 10^10 files */
#define CHART_BAR_MIN 5u
#define CHART_BAR_MAX 60u

void chart_open(struct chart *chart)
{
	struct winsize size = { 0 };

	*chart = (struct chart){ 0 };
	if (!isatty(STDOUT_FILENO))
		return;
	chart->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
	chart->is_utf8 = text_enter_locale();
}

/* Returns the columns that a name takes when text_write() shows it. */
static size_t chart_columns(const void *name, size_t length)
{
	char shown[UTF8_SHOWN_SIZE];
	const uint8_t *text = name;
	size_t columns = 0;

	for (size_t i = 0; i < length;) {
		i += utf8_show(text + i, length - i, TEXT_REFUSED, shown);
		columns += text_columns(shown, strlen(shown));
	}
	return columns;
}

/* Returns the columns for bars; 0: no bars. Bars get the columns that names leave; the longest names may wrap. */
static unsigned chart_bar_room(const struct chart *chart, const struct chart_row *rows, size_t count)
{
	size_t longest = 0, columns, room;

	for (size_t i = 0; i < count; i++) {
		columns = chart_columns(rows[i].name, rows[i].length);
		longest = columns > longest ? columns : longest;
	}
	if (longest > chart->width * 2 / 5)
		longest = chart->width * 2 / 5;
	if (chart->width < CHART_FIXED + longest + CHART_BAR_MIN)
		return 0;
	room = chart->width - CHART_FIXED - longest;
	return room < CHART_BAR_MAX ? (unsigned)room : CHART_BAR_MAX;
}

/* Writes a bar of at most room columns. A share above zero is always visible. */
static void chart_bar(FILE *out, const struct chart *chart, unsigned room, uint64_t part, uint64_t most)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned units = chart->is_utf8 ? 8 : 1, filled;

	filled = most ? (unsigned)((double)part / (double)most * room * units) : 0;
	filled = part && !filled ? 1 : filled;
	for (unsigned i = 0; i < filled / units; i++)
		fputs(chart->is_utf8 ? "█" : "#", out);
	fputs(eighths[filled % units], out);
}

static struct grid *chart_grid(unsigned room, const char *title, struct error *err)
{
	struct grid *grid;

	if (grid_new(&grid, err) < 0)
		return NULL;
	grid_columns(grid, GRID_RIGHT, "FILES", "SHARE", "BYTES");
	if (room)
		grid_columns(grid, GRID_LEFT, "");
	grid_columns(grid, GRID_LEFT, title);
	return grid;
}

int chart_table(const struct chart *chart, const char *title, const struct chart_row *rows, size_t count,
	       uint64_t all_files, struct error *err)
{
	unsigned room = chart_bar_room(chart, rows, count);
	auto_grid struct grid *grid = chart_grid(room, title, err);
	char size[SIZE_TEXT_SIZE];
	uint64_t most = 0;

	if (!grid)
		return err->code;
	for (size_t i = 0; i < count; i++)
		most = rows[i].files > most ? rows[i].files : most;
	for (size_t i = 0; i < count; i++) {
		grid_cell(grid, "%" PRIu64, rows[i].files);
		grid_cell(grid, "%.1f %%", all_files ? (double)rows[i].files * 100 / (double)all_files : 0);
		grid_cell(grid, "%s", format_size(rows[i].bytes, size));
		if (room)
			chart_bar(grid_next(grid), chart, room, rows[i].files, most);
		grid_name(grid, rows[i].name, rows[i].length);
	}
	putchar('\n');
	return grid_print(grid, 0, err);
}

void chart_more(uint64_t more, const char *what, uint64_t files, uint64_t bytes)
{
	char size[SIZE_TEXT_SIZE];

	if (more)
		printf("... %" PRIu64 " more %s, %" PRIu64 " files, %s\n", more, what, files, format_size(bytes, size));
}
