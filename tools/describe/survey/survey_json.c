/* SPDX-License-Identifier: MIT */
/* Prints a description as one JSON object. */
#include "describe/survey/survey_json.h"

#include <stdlib.h>

#include "describe/common/kept.h"

/* Prints files and bytes, under the same keys in every object. */
static void survey_json_counts(struct json *json, uint64_t files, uint64_t bytes)
{
	json_number(json, "files", files);
	json_number(json, "bytes", bytes);
}

static void survey_json_folder(struct json *json, const char *key, const struct folder *folder)
{
	if (!folder) {
		json_null(json, key);
		return;
	}
	json_begin_object(json, key);
	if (folder->name)
		json_bytes(json, "name", folder->name, folder->length);
	survey_json_counts(json, folder->files, folder->bytes);
	json_number(json, "symlinks", folder->symlinks);
	json_end_object(json);
}

static void survey_json_real(struct json *json, const char *key, bool is_known, double value)
{
	if (is_known)
		json_real(json, key, value);
	else
		json_null(json, key);
}

static void survey_json_folders(struct json *json, const struct folders *folders, size_t limit)
{
	struct folders_balance balance = folders_weigh(folders);

	json_number(json, "with_files", balance.count);
	json_number(json, "without_files", balance.empty);
	survey_json_folder(json, "smallest", balance.smallest);
	survey_json_real(json, "median_files", balance.count, balance.median);
	survey_json_folder(json, "largest", balance.largest);
	survey_json_real(json, "imbalance", balance.count, balance.ratio);
	survey_json_folder(json, "outside", &folders->outside);
	json_begin_array(json, "list");
	for (size_t i = 0; i < folders->count && i < limit; i++)
		survey_json_folder(json, NULL, &folders->list[i]);
	json_end_array(json);
}

static void survey_json_splits(struct json *json, const struct folders *folders, size_t limit)
{
	json_begin_array(json, "splits");
	for (size_t i = 0; i < folders->count; i++) {
		if (!folders->list[i].below)
			continue;
		json_begin_object(json, NULL);
		json_bytes(json, "name", folders->list[i].name, folders->list[i].length);
		survey_json_folders(json, folders->list[i].below, limit);
		json_end_object(json);
	}
	json_end_array(json);
}

static void survey_json_sizes(struct json *json, const struct survey *survey)
{
	json_begin_array(json, "sizes");
	for (unsigned i = 0; i < SURVEY_SIZES; i++) {
		if (!survey->sizes[i].files)
			continue;
		json_begin_object(json, NULL);
		json_number(json, "from", i ? UINT64_C(1) << (i - 1) : 0);
		json_number(json, "to", i ? (UINT64_C(1) << (i - 1)) * 2 - 1 : 0);
		survey_json_counts(json, survey->sizes[i].files, survey->sizes[i].bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

static void survey_json_kinds(struct json *json, const struct kinds *kinds, size_t limit)
{
	json_begin_object(json, "kinds");
	json_number(json, "count", kinds->count);
	json_begin_object(json, "further");
	survey_json_counts(json, kinds->rest.files, kinds->rest.bytes);
	json_end_object(json);
	json_begin_array(json, "list");
	for (size_t i = 0; i < kinds->count && i < limit; i++) {
		json_begin_object(json, NULL);
		json_bytes(json, "kind", kinds->list[i].name, kinds->list[i].length);
		survey_json_counts(json, kinds->list[i].files, kinds->list[i].bytes);
		json_end_object(json);
	}
	json_end_array(json);
	json_end_object(json);
}

static void survey_json_largest(struct json *json, const struct largest *largest)
{
	json_begin_array(json, "largest");
	for (size_t i = 0; i < largest->count; i++) {
		json_begin_object(json, NULL);
		json_bytes(json, "path", largest->files[i].path, largest->files[i].length);
		json_number(json, "bytes", largest->files[i].size);
		json_end_object(json);
	}
	json_end_array(json);
}

static void survey_json_storage(struct json *json, const struct survey *survey)
{
	const struct storage *storage = &survey->storage;

	json_begin_object(json, "duplicates");
	survey_json_counts(json, survey->duplicates, survey->duplicate_bytes);
	json_number(json, "saved_bytes", storage->shared_bytes);
	json_end_object(json);
	json_begin_object(json, "storage");
	json_number(json, "sparse_files", survey->sparse_files);
	json_number(json, "hole_bytes", storage->hole_bytes);
	json_number(json, "unique_bytes", storage->unique_bytes);
	json_number(json, "stored_bytes", storage->stored_bytes);
	json_number(json, "index_bytes", storage->index_bytes);
	json_number(json, "chunks", storage->chunks);
	json_number(json, "compressed_chunks", storage->compressed_chunks);
	survey_json_real(json, "compression", storage->stored_bytes,
			 (double)storage->unique_bytes / (double)(storage->stored_bytes + !storage->stored_bytes));
	json_end_object(json);
}

static void survey_json_order(struct json *json, const struct version *version, const struct mixing *mixing)
{
	bool is_random = version->feature_compat & DSFS_VERSION_COMPAT_PLACES;

	json_begin_object(json, "order");
	json_string(json, "kind", is_random ? "random" : "tree");
	if (is_random)
		json_number(json, "seed", version->places_seed);
	else
		json_null(json, "seed");
	json_number(json, "block_files", MIXING_BLOCK);
	json_number(json, "blocks", mixing->blocks);
	survey_json_real(json, "classes", mixing->blocks, mixing->found);
	survey_json_real(json, "classes_at_random", mixing->blocks, mixing->expected);
	json_end_object(json);
}

void survey_json(const struct subject *subject, const struct survey *survey)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", subject->volume->path);
	subject_json(subject, &json, "version");
	kept_json(subject->volume, &json);
	if (subject->below)
		json_string(&json, "folder", subject->below);
	else
		json_null(&json, "folder");
	survey_json_counts(&json, survey->files, survey->bytes);
	json_number(&json, "empty_files", survey->empty_files);
	json_number(&json, "directories", survey->directories);
	json_number(&json, "symlinks", survey->symlinks);
	json_number(&json, "further_names", survey->further_names);
	json_number(&json, "further_bytes", survey->further_bytes);
	json_begin_object(&json, "folders");
	survey_json_folders(&json, &survey->folders, subject->limit);
	json_end_object(&json);
	survey_json_splits(&json, &survey->folders, subject->limit);
	survey_json_sizes(&json, survey);
	survey_json_kinds(&json, &survey->kinds, subject->limit);
	survey_json_largest(&json, &survey->largest);
	survey_json_storage(&json, survey);
	survey_json_order(&json, subject->version, &survey->mixing);
	json_end_object(&json);
	putchar('\n');
}
