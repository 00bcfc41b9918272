/* SPDX-License-Identifier: MIT */
/* Prints a description as text. */
#include "describe/survey/survey_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/format.h"
#include "describe/common/kept.h"
#include "grid.h"
#include "text.h"

static struct chart_row survey_text_row(const char *name, uint64_t files, uint64_t bytes)
{
	return (struct chart_row){ name, strlen(name), files, bytes };
}

static void survey_text_head(const struct subject *subject, const struct survey *survey)
{
	char size[SIZE_TEXT_SIZE], mean[SIZE_TEXT_SIZE];

	printf("volume       '");
	text_write(stdout, subject->volume->path, strlen(subject->volume->path));
	printf("'\n");
	subject_text(subject, "version");
	subject_meta_text(subject);
	kept_text(subject->volume);
	if (subject->below) {
		printf("folder       '");
		text_write(stdout, subject->below, strlen(subject->below));
		printf("'\n");
	}
	printf("files        %" PRIu64 ", %s, %s on average\n", survey->files, format_size(survey->bytes, size),
	       format_size(survey->files ? survey->bytes / survey->files : 0, mean));
	printf("directories  %" PRIu64 "\nsymlinks     %" PRIu64 "\n", survey->directories, survey->symlinks);
	if (survey->further_names)
		printf("hard links   %" PRIu64 " further names of files, %s: below, folders and kinds count names\n",
		       survey->further_names, format_size(survey->further_bytes, size));
}

static void survey_text_storage(const struct survey *survey)
{
	const struct storage *storage = &survey->storage;
	char a[SIZE_TEXT_SIZE], b[SIZE_TEXT_SIZE], c[SIZE_TEXT_SIZE];

	printf("duplicates   %" PRIu64 " files, %s, have the content of another file; sharing saves %s\n",
	       survey->duplicates, format_size(survey->duplicate_bytes, a), format_size(storage->shared_bytes, b));
	printf("holes        %s in %" PRIu64 " files\n", format_size(storage->hole_bytes, a), survey->sparse_files);
	printf("stored       %s as %s", format_size(storage->unique_bytes, a), format_size(storage->stored_bytes, b));
	if (storage->stored_bytes)
		printf(", ratio %.2f", (double)storage->unique_bytes / (double)storage->stored_bytes);
	printf("; %s of it in the index\ncompressed   %" PRIu64 " of %" PRIu64 " chunks\n",
	       format_size(storage->index_bytes, c), storage->compressed_chunks, storage->chunks);
}

static void survey_text_order(const struct version *version, const struct mixing *mixing)
{
	if (version->feature_compat & DSFS_VERSION_COMPAT_PLACES)
		printf("order        random, seed %" PRIu64, version->places_seed);
	else
		printf("order        tree");
	if (mixing->blocks)
		printf("; any %u consecutive files span %.1f classes on average (%.1f if shuffled)", MIXING_BLOCK,
		       mixing->found, mixing->expected);
	putchar('\n');
}

static void survey_text_class(const char *title, const struct folder *folder)
{
	printf("  %-11s%" PRIu64 " %s '", title, folder->files, folder->files == 1 ? "file" : "files");
	text_write(stdout, folder->name, folder->length);
	printf("'\n");
}

/* Prints how even the folders are. split: the top folder that contains them, or NULL. */
static void survey_text_balance(const struct folders *folders, const struct folder *split)
{
	struct folders_balance balance = folders_weigh(folders);

	printf("classes      ");
	if (split)
		text_print("in '%.*s': ", split->length, split->name);
	printf("%zu folders with files", balance.count);
	if (balance.empty)
		printf(", %zu without", balance.empty);
	if (balance.count)
		printf("; imbalance %.2f (largest to smallest)", balance.ratio);
	putchar('\n');
	if (!balance.count)
		return;
	survey_text_class("largest", balance.largest);
	printf("  %-11s%.*f files\n", "median", balance.median == (double)(uint64_t)balance.median ? 0 : 1,
	       balance.median);
	survey_text_class("smallest", balance.smallest);
}

static void survey_text_classes(const struct folders *folders)
{
	if (!folders->splits)
		survey_text_balance(folders, NULL);
	for (size_t i = 0; i < folders->count; i++)
		if (folders->list[i].below)
			survey_text_balance(folders->list[i].below, &folders->list[i]);
}

/* Room for the rows of one table after the other. */
struct survey_text_room {
	struct chart_row *rows;
	size_t limit; /* rows that a table shows, but for one that says how many it does not */
};

static int survey_text_table(const struct chart *chart, const char *title, const struct folders *folders,
			     uint64_t all_files, const struct survey_text_room *room, struct error *err)
{
	size_t shown = folders->count < room->limit ? folders->count : room->limit, count = shown;
	struct chart_row *rows = room->rows;
	uint64_t files = 0, bytes = 0;
	int r;

	for (size_t i = 0; i < shown; i++)
		rows[i] = (struct chart_row){ folders->list[i].name, folders->list[i].length, folders->list[i].files,
					     folders->list[i].bytes };
	for (size_t i = shown; i < folders->count; i++) {
		files += folders->list[i].files;
		bytes += folders->list[i].bytes;
	}
	if (folders->outside.files)
		rows[count++] = survey_text_row("(in no folder)", folders->outside.files, folders->outside.bytes);
	if (!count)
		return 0;
	r = chart_table(chart, title, rows, count, all_files, err);
	if (r == 0)
		chart_more(folders->count - shown, "folders", files, bytes);
	return r;
}

static int survey_text_folders(const struct chart *chart, const struct survey *survey,
			       const struct survey_text_room *room, struct error *err)
{
	const struct folders *folders = &survey->folders;
	char title[sizeof("FOLDER IN ") + UINT8_MAX];
	int r = survey_text_table(chart, "FOLDER", folders, survey->files + survey->further_names, room, err);

	for (size_t i = 0; r == 0 && i < folders->count; i++) {
		const struct folder *split = &folders->list[i];

		if (!split->below)
			continue;
		snprintf(title, sizeof(title), "FOLDER IN %.*s", split->length, split->name);
		r = survey_text_table(chart, title, split->below, split->files, room, err);
	}
	return r;
}

/* Returns the rows of the longest table. */
static size_t survey_text_rows(const struct survey *survey)
{
	const struct folders *folders = &survey->folders;
	size_t most = folders->count > survey->kinds.count ? folders->count : survey->kinds.count;

	for (size_t i = 0; i < folders->count; i++)
		if (folders->list[i].below && folders->list[i].below->count > most)
			most = folders->list[i].below->count;
	return most;
}

static void survey_text_size_name(unsigned number, char *text, size_t room)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	if (number < 2)
		snprintf(text, room, number ? "1 byte" : "0 bytes");
	else
		snprintf(text, room, "%u %s, below %u %s", 1u << (number - 1) % 10, units[(number - 1) / 10],
			 1u << number % 10, units[number / 10]);
}

static int survey_text_sizes(const struct chart *chart, const struct survey *survey, struct error *err)
{
	char names[SURVEY_SIZES][2 * SIZE_TEXT_SIZE + 16];
	struct chart_row rows[SURVEY_SIZES];
	unsigned first = 0, last = SURVEY_SIZES;
	size_t count = 0;

	if (!survey->files)
		return 0;
	while (!survey->sizes[first].files)
		first++;
	while (!survey->sizes[last - 1].files)
		last--;
	for (unsigned i = first; i < last; i++) {
		survey_text_size_name(i, names[i], sizeof(names[i]));
		rows[count++] = survey_text_row(names[i], survey->sizes[i].files, survey->sizes[i].bytes);
	}
	return chart_table(chart, "SIZE FROM", rows, count, survey->files, err);
}

static int survey_text_kinds(const struct chart *chart, const struct survey *survey,
			     const struct survey_text_room *room, struct error *err)
{
	const struct kinds *kinds = &survey->kinds;
	size_t shown = kinds->count < room->limit ? kinds->count : room->limit;
	struct chart_row *rows = room->rows;
	uint64_t files = kinds->rest.files, bytes = kinds->rest.bytes;
	int r;

	if (!kinds->count || !room->limit)
		return 0;
	for (size_t i = 0; i < shown; i++) {
		const struct kind *kind = &kinds->list[i];

		rows[i] = kind->length ? (struct chart_row){ kind->name, kind->length, kind->files, kind->bytes } :
					 survey_text_row("(none)", kind->files, kind->bytes);
	}
	for (size_t i = shown; i < kinds->count; i++) {
		files += kinds->list[i].files;
		bytes += kinds->list[i].bytes;
	}
	r = chart_table(chart, "KIND", rows, shown, survey->files + survey->further_names, err);
	if (r == 0)
		chart_more(kinds->count - shown + (kinds->rest.files != 0),
			  kinds->rest.files ? "or many more kinds" : "kinds", files, bytes);
	return r;
}

static int survey_text_largest(const struct survey *survey, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	char size[SIZE_TEXT_SIZE];
	int r;

	if (!survey->largest.count)
		return 0;
	r = grid_new(&grid, err);
	if (r < 0)
		return r;
	grid_columns(grid, GRID_RIGHT, "BYTES");
	grid_columns(grid, GRID_LEFT, "LARGEST");
	for (size_t i = 0; i < survey->largest.count; i++) {
		grid_cell(grid, "%s", format_size(survey->largest.files[i].size, size));
		grid_name(grid, survey->largest.files[i].path, survey->largest.files[i].length);
	}
	putchar('\n');
	return grid_print(grid, 0, err);
}

int survey_text(const struct chart *chart, const struct subject *subject, const struct survey *survey,
		struct error *err)
{
	size_t most = survey_text_rows(survey);
	auto_free struct chart_row *rows = NULL;
	struct survey_text_room room = { .limit = subject->limit };
	int r;

	if (most > subject->limit)
		most = subject->limit;
	room.rows = rows = calloc(most + 1, sizeof(*rows));
	if (!rows)
		return error_no_memory(err);
	survey_text_head(subject, survey);
	survey_text_storage(survey);
	survey_text_order(subject->version, &survey->mixing);
	survey_text_classes(&survey->folders);
	r = survey_text_folders(chart, survey, &room, err);
	if (r == 0)
		r = survey_text_sizes(chart, survey, err);
	if (r == 0)
		r = survey_text_kinds(chart, survey, &room, err);
	return r == 0 ? survey_text_largest(survey, err) : r;
}
