/* SPDX-License-Identifier: MIT */
/* datasetfsctl extract: writes files and directories of a version below a directory. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/interrupt.h"
#include "base/program/progress.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "extract/data_set.h"
#include "extract/target.h"
#include "extract/tree.h"
#include "text.h"
#include "verb.h"
#include "walk.h"

struct extract_options {
	struct verb_options verb;
	const char *version, *directory;
	bool force, suid;
	enum progress_kind progress;
};

static const struct option_spec extract_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "directory", 'C', "DIR", OPTION_TEXT(struct extract_options, directory, NULL),
	  "write below DIR instead of the working directory" },
	{ "force", 0, NULL, OPTION_TRUE(struct extract_options, force), "replace files that are there" },
	VERB_OPTION_JSON,
	{ "progress", 0, "KIND", OPTION_WORD(struct extract_options, progress, "auto", "bar", "plain", "json", "none"),
	  "auto (default), bar, plain, json or none" },
	{ "suid", 0, NULL, OPTION_TRUE(struct extract_options, suid), "keep the setuid and setgid bits" },
	{ "version", 0, "L", OPTION_TEXT(struct extract_options, version, version_check_label),
	  "take version L instead of the current one" },
	{ 0 },
};

const struct command_line extract_line = {
	.program = "datasetfsctl extract",
	.usage = "VOLUME|MNT [PATH]...",
	.operands = { 1, OPERANDS_ANY },
	.summary = "Write files of a version into a directory.\n"
		   "Without PATH, all of them. Every byte is verified before it is written, and a file has its\n"
		   "name when it is complete.",
	.options = extract_table,
};

struct extract {
	const struct extract_options *options;
	struct data_set set;
	struct target *target;
	struct stream *stream;
	struct tree *tree;
	struct tree_counts counts;
};

static void extract_close(struct extract *extract)
{
	tree_close(extract->tree);
	stream_close(extract->stream);
	target_close(extract->target);
	data_set_close(&extract->set);
}

/* Looks for all paths first, so that a wrong one is found before anything is written. */
static int extract_check(const struct extract *extract, char *const *paths, int count, struct error *err)
{
	uint64_t ordinal;
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++)
		r = walk_find(extract->set.index->names, paths[i], &ordinal, err);
	return r;
}

static int extract_begin(struct extract *extract, struct progress *progress, struct error *err)
{
	const struct extract_options *options = extract->options;
	const struct target_setup target = { .directory = options->directory, .index = extract->set.index,
					     .volume = extract->set.volume->array, .force = options->force,
					     .suid = options->suid };
	struct stream_setup stream = { .index = extract->set.index, .array = extract->set.volume->array,
				       .taker = &target_taker, .progress = progress };
	int r = target_open(&target, &extract->target, err);

	stream.argument = extract->target;
	if (r == 0)
		r = stream_open(&stream, &extract->stream, err);
	return r < 0 ? r : tree_open(extract->set.index, extract->stream, &extract->tree, err);
}

static int extract_copy(struct extract *extract, char *const *paths, int count, struct error *err)
{
	int r = 0;

	if (!count)
		r = tree_add(extract->tree, "/", err);
	for (int i = 0; r == 0 && i < count; i++)
		r = tree_add(extract->tree, paths[i], err);
	if (r == 0)
		r = tree_finish(extract->tree, &extract->counts, err);
	return r < 0 ? r : target_finish(extract->target, err);
}

static int extract_all(struct extract *extract, char *const *paths, int count, struct error *err)
{
	enum progress_kind kind = extract->options->progress;
	struct progress *progress = NULL;
	int r = extract_check(extract, paths, count, err);

	if (kind == PROGRESS_AUTO && !isatty(STDERR_FILENO))
		kind = PROGRESS_NONE;
	if (r == 0)
		r = progress_open(kind, &progress, err);
	if (r == 0)
		r = extract_begin(extract, progress, err);
	progress_phase(progress, "extracting", count ? 0 : extract->set.version->content_bytes);
	if (r == 0)
		r = extract_copy(extract, paths, count, err);
	progress_close(progress);
	return r;
}

/* ---- output ---- */

static void extract_json(const struct extract *extract)
{
	struct json json = { .out = stdout };
	char digest[DIGEST_TEXT_SIZE];

	format_digest(extract->set.version->digest, digest);
	json_begin_object(&json, NULL);
	json_string(&json, "volume", extract->set.volume->path);
	json_string(&json, "label", extract->set.version->label);
	json_string(&json, "digest", digest);
	json_string(&json, "directory", extract->options->directory);
	json_number(&json, "files", extract->counts.files);
	json_number(&json, "directories", extract->counts.directories);
	json_number(&json, "symlinks", extract->counts.symlinks);
	json_number(&json, "hard_links", extract->counts.hard_links);
	json_number(&json, "content_bytes", extract->counts.content_bytes);
	json_number(&json, "lost_attributes", target_lost_attributes(extract->target));
	json_end_object(&json);
	putchar('\n');
}

static void extract_text(const struct extract *extract)
{
	const struct tree_counts *counts = &extract->counts;
	char content[SIZE_TEXT_SIZE];

	text_print("'%s': version '%s': %" PRIu64 " files with %s, %" PRIu64 " directories, %" PRIu64
		   " symlinks, %" PRIu64 " hard links\n",
		   extract->options->directory, extract->set.version->label, counts->files,
		   format_size(counts->content_bytes, content), counts->directories, counts->symlinks,
		   counts->hard_links);
}

static void extract_tell(const struct extract *extract)
{
	uint64_t lost = target_lost_attributes(extract->target);

	if (extract->options->verb.json)
		extract_json(extract);
	else
		extract_text(extract);
	if (lost)
		log_warn("the filesystem of '%s' did not take %" PRIu64 " extended attributes, ignoring",
			 extract->options->directory, lost);
}

int extract_run(int argc, char **argv)
{
	struct extract_options options = { .directory = ".", .progress = PROGRESS_AUTO };
	struct extract extract = { .options = &options };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&extract_line, argc, argv, &options, &operands, &status))
		return status;
	interrupt_install();
	descriptors_raise_limit(); /* each directory on a path is open */
	r = data_set_open(argv[1], options.version, &options.verb.demands, &extract.set, &err);
	if (r == 0)
		r = extract_all(&extract, argv + 2, operands - 1, &err);
	if (r < 0)
		log_error(&err, "cannot extract from '%s'", argv[1]);
	else
		extract_tell(&extract);
	extract_close(&extract);
	return r < 0 ? verb_failed() : VERB_DONE;
}
