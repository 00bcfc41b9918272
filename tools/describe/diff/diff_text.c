/* SPDX-License-Identifier: MIT */
/* Prints the changes as text: a table of all kinds of changes, then a list of each. */
#include "describe/diff/diff_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/format.h"
#include "describe/diff/attributes.h"
#include "describe/diff/diff_words.h"
#include "grid.h"
#include "text.h"

static void diff_text_path(FILE *out, const char *path, size_t length, uint32_t mode)
{
	text_write(out, path, length);
	if (S_ISDIR(mode) && length > 1)
		putc('/', out);
}

static void diff_text_what(FILE *out, unsigned what)
{
	const char *word;

	fputs("  (", out);
	for (unsigned i = 0, more = 0; (word = attributes_word(i)); i++)
		if (what >> i & 1)
			fprintf(out, "%s%s", more++ ? ", " : "", word);
	putc(')', out);
}

/* Writes how the content changed. */
static void diff_text_content(FILE *out, const struct diff_item *item)
{
	bool grew = item->size > item->former_size;
	char size[SIZE_TEXT_SIZE];

	if ((item->mode & S_IFMT) != (item->former_mode & S_IFMT))
		fprintf(out, "  (was a %s)", text_type(item->former_mode));
	else if (item->size != item->former_size)
		fprintf(out, "  (%c%s)", grew ? '+' : '-',
			format_size(grew ? item->size - item->former_size : item->former_size - item->size, size));
}

static void diff_text_item(struct grid *grid, enum diff_kind kind, const struct diff_item *item)
{
	char size[SIZE_TEXT_SIZE];
	FILE *out;

	grid_cell(grid, "%s", S_ISREG(item->mode) ? format_size(item->size, size) : text_type(item->mode));
	out = grid_next(grid);
	diff_text_path(out, item->path, item->length, item->mode);
	if (kind == DIFF_MOVED) {
		fputs(" -> ", out);
		diff_text_path(out, item->to, item->to_length, item->mode);
	}
	if (kind == DIFF_METADATA)
		diff_text_what(out, item->what);
	if (kind == DIFF_CHANGED)
		diff_text_content(out, item);
}

static int diff_text_list(enum diff_kind kind, const struct diff_count *count, struct error *err)
{
	uint64_t all = count->files + count->directories + count->symlinks;
	auto_grid struct grid *grid = NULL;
	char title[128];
	int r;

	if (!count->count)
		return 0;
	r = grid_new(&grid, err);
	if (r < 0)
		return r;
	if (all > count->count)
		snprintf(title, sizeof(title), "%s (the first %zu of %" PRIu64 ")", diff_words_title(kind),
			 count->count, all);
	else
		snprintf(title, sizeof(title), "%s", diff_words_title(kind));
	grid_columns(grid, GRID_RIGHT, "");
	grid_columns(grid, GRID_LEFT, title);
	for (size_t i = 0; i < count->count; i++)
		diff_text_item(grid, kind, &count->items[i]);
	putchar('\n');
	return grid_print(grid, 0, err);
}

/* Prints how many directories and symbolic links changed, by kinds of changes. */
static int diff_text_others(const struct diff *diff, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	uint64_t all = 0;
	int r;

	for (unsigned kind = 0; kind < DIFF_SAME; kind++)
		all += diff->kinds[kind].directories + diff->kinds[kind].symlinks;
	if (!all)
		return 0;
	r = grid_new(&grid, err);
	if (r < 0)
		return r;
	grid_columns(grid, GRID_RIGHT, "DIRECTORIES", "SYMLINKS");
	grid_columns(grid, GRID_LEFT, "CHANGE");
	for (unsigned kind = 0; kind < DIFF_SAME; kind++) {
		if (!diff->kinds[kind].directories && !diff->kinds[kind].symlinks)
			continue;
		grid_cell(grid, "%" PRIu64, diff->kinds[kind].directories);
		grid_cell(grid, "%" PRIu64, diff->kinds[kind].symlinks);
		grid_cell(grid, "%s", diff_words_title(kind));
	}
	putchar('\n');
	return grid_print(grid, 0, err);
}

/* Prints how many files changed, by kinds of changes. */
static int diff_text_files(const struct chart *chart, const struct diff *diff, struct error *err)
{
	struct chart_row rows[DIFF_KINDS];
	uint64_t files = 0;
	size_t count = 0;

	for (unsigned kind = 0; kind < DIFF_KINDS; kind++) {
		const struct diff_count *found = &diff->kinds[kind];
		const char *title = diff_words_title(kind);

		if (kind == DIFF_UNKNOWN && !found->files)
			continue;
		files += found->files;
		rows[count++] = (struct chart_row){ title, strlen(title), found->files, found->bytes };
	}
	return chart_table(chart, "CHANGE", rows, count, files, err);
}

int diff_text(const struct chart *chart, const struct subject *from, const struct subject *to, const struct diff *diff,
	      struct error *err)
{
	int r;

	printf("volume       '");
	text_write(stdout, to->volume->path, strlen(to->volume->path));
	printf("'\n");
	subject_text(from, "from");
	subject_meta_text(from);
	subject_text(to, "to");
	subject_meta_text(to);
	r = diff_text_files(chart, diff, err);
	if (r == 0)
		r = diff_text_others(diff, err);
	for (unsigned kind = 0; r == 0 && kind < DIFF_SAME; kind++)
		r = diff_text_list(kind, &diff->kinds[kind], err);
	return r;
}
