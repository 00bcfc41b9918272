/* SPDX-License-Identifier: MIT */
/* Prints the changes as text: a table of all kinds of changes, then a list of each. */
#include "describe/diff_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text/format.h"
#include "describe/attributes.h"
#include "describe/diff_words.h"
#include "text.h"

static void diff_text_path(const char *path, size_t length, uint32_t mode)
{
	text_write(stdout, path, length);
	if (S_ISDIR(mode) && length > 1)
		putchar('/');
}

static void diff_text_what(unsigned what)
{
	const char *word;

	fputs("  (", stdout);
	for (unsigned i = 0, more = 0; (word = attributes_word(i)); i++)
		if (what >> i & 1)
			printf("%s%s", more++ ? ", " : "", word);
	putchar(')');
}

static void diff_text_item(enum diff_kind kind, const struct diff_item *item)
{
	char size[SIZE_TEXT_SIZE], more[SIZE_TEXT_SIZE];
	bool grew = item->size > item->former_size;

	if (S_ISREG(item->mode))
		format_size(item->size, size);
	else
		snprintf(size, sizeof(size), "%s", text_type(item->mode));
	printf("%12s  ", size);
	diff_text_path(item->path, item->length, item->mode);
	if (kind == DIFF_MOVED) {
		fputs(" -> ", stdout);
		diff_text_path(item->to, item->to_length, item->mode);
	}
	if (kind == DIFF_METADATA)
		diff_text_what(item->what);
	if (kind == DIFF_CHANGED && (item->mode & S_IFMT) != (item->former_mode & S_IFMT))
		printf("  (was a %s)", text_type(item->former_mode));
	else if (kind == DIFF_CHANGED && item->size != item->former_size)
		printf("  (%c%s)", grew ? '+' : '-',
		       format_size(grew ? item->size - item->former_size : item->former_size - item->size, more));
	putchar('\n');
}

static void diff_text_list(enum diff_kind kind, const struct diff_count *count)
{
	uint64_t all = count->files + count->directories + count->symlinks;

	if (!count->count)
		return;
	printf("\n%12s  %s", "", diff_words_title(kind));
	if (all > count->count)
		printf(" (the first %zu of %" PRIu64 ")", count->count, all);
	putchar('\n');
	for (size_t i = 0; i < count->count; i++)
		diff_text_item(kind, &count->items[i]);
}

static void diff_text_others(const struct diff *diff)
{
	uint64_t all = 0;

	for (unsigned kind = 0; kind < DIFF_SAME; kind++)
		all += diff->kinds[kind].directories + diff->kinds[kind].symlinks;
	if (!all)
		return;
	printf("\n%12s %9s  NAMES THAT WERE\n", "DIRECTORIES", "SYMLINKS");
	for (unsigned kind = 0; kind < DIFF_SAME; kind++)
		if (diff->kinds[kind].directories || diff->kinds[kind].symlinks)
			printf("%12" PRIu64 " %9" PRIu64 "  %s\n", diff->kinds[kind].directories,
			       diff->kinds[kind].symlinks, diff_words_title(kind));
}

void diff_text(const struct page *page, const struct subject *from, const struct subject *to, const struct diff *diff)
{
	struct page_row rows[DIFF_KINDS];
	uint64_t files = 0;
	size_t count = 0;

	printf("volume       '");
	text_write(stdout, to->volume->path, strlen(to->volume->path));
	printf("'\n");
	subject_text(from, "from");
	subject_text(to, "to");
	for (unsigned kind = 0; kind < DIFF_KINDS; kind++) {
		const struct diff_count *found = &diff->kinds[kind];
		const char *title = diff_words_title(kind);

		if (kind == DIFF_UNKNOWN && !found->files)
			continue;
		files += found->files;
		rows[count++] = (struct page_row){ title, strlen(title), found->files, found->bytes };
	}
	page_table(page, "FILES THAT WERE", rows, count, files);
	diff_text_others(diff);
	for (unsigned kind = 0; kind < DIFF_SAME; kind++)
		diff_text_list(kind, &diff->kinds[kind]);
}
