/* SPDX-License-Identifier: MIT */
/* Prints the changes as one JSON object. */
#include "describe/diff/diff_json.h"

#include <sys/stat.h>

#include "describe/diff/attributes.h"
#include "describe/diff/diff_words.h"
#include "text.h"

static void diff_json_what(struct json *json, unsigned what)
{
	const char *word;

	json_begin_array(json, "what");
	for (unsigned i = 0; (word = attributes_word(i)); i++)
		if (what >> i & 1)
			json_string(json, NULL, word);
	json_end_array(json);
}

static void diff_json_item(struct json *json, enum diff_kind kind, const struct diff_item *item)
{
	json_begin_object(json, NULL);
	json_bytes(json, kind == DIFF_MOVED ? "from" : "path", item->path, item->length);
	if (kind == DIFF_MOVED)
		json_bytes(json, "to", item->to, item->to_length);
	json_string(json, "type", text_type(item->mode));
	json_number(json, "bytes", item->size);
	if (kind == DIFF_CHANGED) {
		json_string(json, "former_type", text_type(item->former_mode));
		json_number(json, "former_bytes", item->former_size);
	}
	if (kind == DIFF_METADATA)
		diff_json_what(json, item->what);
	json_end_object(json);
}

static void diff_json_kind(struct json *json, enum diff_kind kind, const struct diff_count *count)
{
	json_begin_object(json, diff_words_key(kind));
	json_number(json, "files", count->files);
	json_number(json, "bytes", count->bytes);
	if (kind == DIFF_CHANGED)
		json_number(json, "former_bytes", count->former_bytes);
	json_number(json, "directories", count->directories);
	json_number(json, "symlinks", count->symlinks);
	if (kind != DIFF_SAME) {
		json_begin_array(json, "list");
		for (size_t i = 0; i < count->count; i++)
			diff_json_item(json, kind, &count->items[i]);
		json_end_array(json);
	}
	json_end_object(json);
}

void diff_json(const struct subject *from, const struct subject *to, const struct diff *diff)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "volume", to->volume->path);
	subject_json(from, &json, "from");
	subject_json(to, &json, "to");
	if (to->below)
		json_string(&json, "folder", to->below);
	else
		json_null(&json, "folder");
	for (unsigned kind = 0; kind < DIFF_KINDS; kind++)
		diff_json_kind(&json, kind, &diff->kinds[kind]);
	json_end_object(&json);
	putchar('\n');
}
