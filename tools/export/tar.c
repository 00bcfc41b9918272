/* SPDX-License-Identifier: MIT */
/* datasetfsctl export tar: writes a version as an archive that equals its tree. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/program/progress.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "export/export.h"
#include "export/tar_write.h"
#include "extract/data_set.h"
#include "extract/outfile.h"
#include "extract/tree.h"
#include "text.h"

struct tar_options {
	struct verb_options verb;
	bool force;
	enum progress_kind progress;
};

static const struct option_spec tar_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "force", 0, NULL, OPTION_TRUE(struct tar_options, force), "replace FILE if it is there" },
	VERB_OPTION_JSON,
	{ "progress", 0, "KIND", OPTION_WORD(struct tar_options, progress, "auto", "bar", "plain", "json", "none"),
	  "auto (default), bar, plain, json or none" },
	{ 0 },
};

const struct command_line export_tar_line = {
	.program = "datasetfsctl export tar",
	.usage = "VOLUME|MNT LABEL FILE|-",
	.operands = { 3, 3 },
	.summary = "Write a version as a tar archive, to FILE or to standard output.\n"
		   "Every byte is verified before it is written.",
	.options = tar_table,
};

struct tar_export {
	const struct tar_options *options;
	struct data_set set;
	struct tree_counts counts;
	uint64_t bytes; /* of the archive */
};

/* ---- the archive ---- */

static int tar_add_all(struct tar_export *export, struct stream *stream, struct error *err)
{
	struct tree *tree = NULL;
	int r = tree_open(export->set.index, stream, &tree, err);

	if (r == 0)
		r = tree_add(tree, "/", err);
	if (r == 0)
		r = tree_finish(tree, &export->counts, err);
	tree_close(tree);
	return r;
}

static int tar_copy(struct tar_export *export, struct tar_write *tar, struct progress *progress, struct error *err)
{
	const struct stream_setup setup = { .index = export->set.index, .array = export->set.volume->array,
					    .taker = &tar_write_taker, .argument = tar, .progress = progress };
	struct stream *stream;
	int r = stream_open(&setup, &stream, err);

	if (r < 0)
		return r;
	progress_phase(progress, "exporting", export->set.version->content_bytes);
	r = tar_add_all(export, stream, err);
	stream_close(stream);
	return r < 0 ? r : tar_write_finish(tar, err);
}

static int tar_write_to(struct tar_export *export, int fd, struct error *err)
{
	enum progress_kind kind = export->options->progress;
	struct progress *progress = NULL;
	struct tar_write *tar = NULL;
	int r;

	if (kind == PROGRESS_AUTO && !isatty(STDERR_FILENO))
		kind = PROGRESS_NONE;
	r = tar_write_open(fd, export->set.index, &tar, err);
	if (r == 0)
		r = progress_open(kind, &progress, err);
	if (r == 0)
		r = tar_copy(export, tar, progress, err);
	progress_close(progress);
	export->bytes = tar ? tar_write_bytes(tar) : 0;
	tar_write_free(tar);
	return r;
}

static int tar_write_file(struct tar_export *export, const char *path, struct error *err)
{
	struct outfile file = OUTFILE_NONE;
	int r = outfile_open(path, export->options->force, export->set.volume->array, &file, err);

	if (r == 0)
		r = tar_write_to(export, file.fd, err);
	if (r == 0)
		r = outfile_commit(&file, err);
	outfile_close(&file);
	return r;
}

static int tar_write_anywhere(struct tar_export *export, const char *path, struct error *err)
{
	if (strcmp(path, "-") != 0)
		return tar_write_file(export, path, err);
	if (isatty(STDOUT_FILENO))
		return error_set(err, -EINVAL,
				 "standard output is a terminal: name a FILE, or put a program behind it");
	return tar_write_to(export, STDOUT_FILENO, err);
}

/* ---- output ---- */

static void tar_json(const struct tar_export *export, const char *file, FILE *out)
{
	struct json json = { .out = out };
	char digest[DIGEST_TEXT_SIZE];

	format_digest(export->set.version->digest, digest);
	json_begin_object(&json, NULL);
	json_string(&json, "volume", export->set.volume->path);
	json_string(&json, "label", export->set.version->label);
	json_string(&json, "digest", digest);
	json_string(&json, "file", file);
	json_number(&json, "bytes", export->bytes);
	json_number(&json, "files", export->counts.files);
	json_number(&json, "directories", export->counts.directories);
	json_number(&json, "symlinks", export->counts.symlinks);
	json_number(&json, "hard_links", export->counts.hard_links);
	json_number(&json, "content_bytes", export->counts.content_bytes);
	json_end_object(&json);
	putc('\n', out);
}

static void tar_text(const struct tar_export *export, const char *file)
{
	char bytes[SIZE_TEXT_SIZE], content[SIZE_TEXT_SIZE];

	text_print("'%s': %s, version '%s': %" PRIu64 " files with %s, %" PRIu64 " directories, %" PRIu64
		   " symlinks, %" PRIu64 " hard links\n",
		   file, format_size(export->bytes, bytes), export->set.version->label, export->counts.files,
		   format_size(export->counts.content_bytes, content), export->counts.directories,
		   export->counts.symlinks, export->counts.hard_links);
}

/* Prints the result. An archive on standard output must be the only thing printed there. */
static void tar_tell(const struct tar_export *export, const char *file)
{
	bool is_stream = !strcmp(file, "-");

	if (export->options->verb.json)
		tar_json(export, file, is_stream ? stderr : stdout);
	else if (!is_stream)
		tar_text(export, file);
}

int export_tar_run(int argc, char **argv)
{
	struct tar_options options = { .progress = PROGRESS_AUTO };
	struct tar_export export = { .options = &options };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&export_tar_line, argc, argv, &options, &operands, &status))
		return status;
	interrupt_install();
	r = data_set_open(argv[1], argv[2], &options.verb.demands, &export.set, &err);
	if (r == 0)
		r = tar_write_anywhere(&export, argv[3], &err);
	if (r < 0)
		log_error(&err, "cannot export '%s' of '%s'", argv[2], argv[1]);
	else
		tar_tell(&export, argv[3]);
	data_set_close(&export.set);
	return r < 0 ? verb_failed() : VERB_DONE;
}
