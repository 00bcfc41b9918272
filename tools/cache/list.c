/* SPDX-License-Identifier: MIT */
/* datasetfsctl cache list: shows what lies in the folder of the mount option cache=. */
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "cache/cache.h"
#include "cache/copy.h"
#include "cache/folder.h"
#include "cache/store.h"
#include "grid.h"
#include "text.h"

static const struct option_spec list_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line cache_list_line = {
	.program = "datasetfsctl cache list",
	.usage = "DIR",
	.operands = { 1, 1 },
	.summary = "Show the copies in the folder of the mount option cache=.",
	.options = list_table,
};

static const char *list_kind(const struct copy_file *file)
{
	return file->copy.kind == COPY_INDEX ? "index" : "block checksums";
}

/* ---- as JSON ---- */

static int list_json_copy(void *argument, const struct copy_file *file, struct error *err)
{
	struct json *json = argument;
	char sum[2 * sizeof(file->copy.sha256) + 1], uuid[UUID_TEXT_SIZE];

	(void)err;
	format_hex(file->copy.sha256, sizeof(file->copy.sha256), sum);
	format_uuid(file->copy.version, uuid);
	json_begin_object(json, NULL);
	if (file->copy.length) {
		json_string(json, "kind", list_kind(file));
		json_string(json, "label", file->copy.label);
		json_number(json, "sequence", file->copy.sequence);
		json_string(json, "uuid", uuid);
	} else {
		json_null(json, "kind");
		json_null(json, "label");
		json_null(json, "sequence");
		json_null(json, "uuid");
	}
	json_string(json, "sha256", sum);
	json_number(json, "bytes", file->bytes);
	json_number(json, "written", (uint64_t)file->written);
	json_end_object(json);
	return 0;
}

static int list_json_volume(void *argument, const uint8_t uuid[16], int volume, struct error *err)
{
	struct json *json = argument;
	char text[UUID_TEXT_SIZE];
	int r;

	format_uuid(uuid, text);
	json_begin_object(json, NULL);
	json_string(json, "uuid", text);
	json_begin_array(json, "copies");
	r = copy_each(volume, list_json_copy, json, err);
	json_end_array(json);
	json_number(json, "content_bytes", store_look(volume).bytes);
	json_end_object(json);
	return r;
}

static int list_json(int folder, const char *path, struct error *err)
{
	struct json json = { .out = stdout };
	int r;

	json_begin_object(&json, NULL);
	json_string(&json, "cache", path);
	json_begin_array(&json, "volumes");
	r = folder_each_volume(folder, list_json_volume, &json, err);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
	return r;
}

/* ---- as text ---- */

struct list_row {
	struct grid *grid;
	char volume[UUID_TEXT_SIZE];
};

static int list_text_copy(void *argument, const struct copy_file *file, struct error *err)
{
	const struct list_row *row = argument;
	char size[SIZE_TEXT_SIZE], time[TEXT_TIME_SIZE];

	(void)err;
	grid_cell(row->grid, "%s", row->volume);
	grid_cell(row->grid, "%s", file->copy.length ? file->copy.label : "-");
	grid_cell(row->grid, "%s", file->copy.length ? list_kind(file) : "-");
	if (file->copy.length)
		grid_cell(row->grid, "%" PRIu64, file->copy.sequence);
	else
		grid_cell(row->grid, "-");
	grid_cell(row->grid, "%s", format_size(file->bytes, size));
	grid_cell(row->grid, "%s", text_time(file->written, time));
	grid_cell(row->grid, "%s", file->copy.length ? "" : "damaged: the next mount of its version makes it anew");
	return 0;
}

static void list_text_contents(const struct list_row *row, int volume)
{
	const struct store_files files = store_look(volume);
	char size[SIZE_TEXT_SIZE], time[TEXT_TIME_SIZE];

	if (!files.bytes)
		return;
	grid_cell(row->grid, "%s", row->volume);
	grid_cell(row->grid, "-");
	grid_cell(row->grid, "contents");
	grid_cell(row->grid, "-");
	grid_cell(row->grid, "%s", format_size(files.bytes, size));
	grid_cell(row->grid, "%s", text_time(files.written, time));
	grid_cell(row->grid, "%s", "");
}

static int list_text_volume(void *argument, const uint8_t uuid[16], int volume, struct error *err)
{
	struct list_row row = { .grid = argument };

	format_uuid(uuid, row.volume);
	list_text_contents(&row, volume);
	return copy_each(volume, list_text_copy, &row, err);
}

static int list_text(int folder, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_LEFT, "VOLUME", "VERSION", "COPY OF ITS");
	grid_columns(grid, GRID_RIGHT, "SEQUENCE", "SIZE");
	grid_columns(grid, GRID_LEFT, "WRITTEN (UTC)");
	grid_columns(grid, GRID_BELOW, "");
	r = folder_each_volume(folder, list_text_volume, grid, err);
	return r < 0 ? r : grid_print(grid, 0, err);
}

int cache_list_run(int argc, char **argv)
{
	struct verb_options options = { 0 };
	auto_close int folder = -1;
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&cache_list_line, argc, argv, &options, &operands, &status))
		return status;
	r = folder_look(argv[1], &folder, &err);
	if (r == 0)
		r = options.json ? list_json(folder, argv[1], &err) : list_text(folder, &err);
	if (r < 0) {
		log_err("%s", err.reason);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
