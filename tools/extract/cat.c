/* SPDX-License-Identifier: MIT */
/* datasetfsctl cat: writes the content of files of a version to standard output. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/program/progress.h"
#include "base/transfer.h"
#include "extract/data_set.h"
#include "extract/stream.h"
#include "verb.h"
#include "walk.h"

#define CAT_ZEROS 65536u /* bytes of a hole that are written at a time */

struct cat_options {
	struct verb_options verb;
	const char *version;
	enum progress_kind progress;
};

static const struct option_spec cat_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "progress", 0, "KIND", OPTION_WORD(struct cat_options, progress, "auto", "bar", "plain", "json", "none"),
	  "auto, bar, plain, json or none (default)" },
	{ "version", 0, "L", OPTION_TEXT(struct cat_options, version, version_check_label),
	  "take version L instead of the current one" },
	{ 0 },
};

const struct command_line cat_line = {
	.program = "datasetfsctl cat",
	.usage = "VOLUME|MNT PATH...",
	.operands = { 2, OPERANDS_ANY },
	.summary = "Write files of a version to standard output.\n"
		   "Every byte is verified before it is written.",
	.options = cat_table,
};

/* ---- the taker ---- */

static int cat_head(void *argument, const struct stream_entry *entry, struct error *err)
{
	(void)argument;
	(void)entry;
	(void)err;
	return 0;
}

static int cat_data(void *argument, const void *bytes, size_t length, struct error *err)
{
	(void)argument;
	if (transfer_write(STDOUT_FILENO, bytes, length) < 0)
		return error_errno(err, "cannot write to standard output");
	return 0;
}

static int cat_hole(void *argument, uint64_t length, struct error *err)
{
	static const char zeros[CAT_ZEROS];
	int r = 0;

	for (size_t step; r == 0 && length; length -= step) {
		step = length < CAT_ZEROS ? (size_t)length : CAT_ZEROS;
		r = interrupt_check(err);
		if (r == 0)
			r = cat_data(argument, zeros, step, err);
	}
	return r;
}

static const struct stream_taker cat_taker = { .head = cat_head, .data = cat_data, .hole = cat_hole };

/* ---- files ---- */

static int cat_find(const struct index *index, const char *path, struct inode *ret, struct error *err)
{
	uint64_t ordinal;
	int r = walk_find(index->names, path, &ordinal, err);

	if (r == 0)
		r = inode_get(index, ordinal, ret, err);
	if (r < 0)
		return r;
	if (S_ISDIR(ret->mode))
		return error_set(err, -EISDIR, "'%s' is a directory", path);
	if (S_ISLNK(ret->mode))
		return error_set(err, -ELOOP, "'%s' is a symbolic link: name the file that it leads to", path);
	return 0;
}

static int cat_add(const struct index *index, struct stream *stream, char *const *paths, int count, struct error *err)
{
	struct inode inode;
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++) {
		const struct stream_entry entry = { .path = paths[i], .inode = &inode };

		r = cat_find(index, paths[i], &inode, err);
		if (r == 0)
			r = stream_add(stream, &entry, err);
	}
	return r < 0 ? r : stream_flush(stream, err);
}

static int cat_all(const struct data_set *set, enum progress_kind kind, char *const *paths, int count,
		   struct error *err)
{
	struct stream_setup setup = { .index = set->index, .array = set->volume->array, .taker = &cat_taker };
	struct stream *stream = NULL;
	struct inode inode;
	int r = 0;

	for (int i = 0; r == 0 && i < count; i++) /* before anything is written */
		r = cat_find(set->index, paths[i], &inode, err);
	if (r == 0)
		r = progress_open(kind, &setup.progress, err);
	if (r == 0)
		r = stream_open(&setup, &stream, err);
	progress_phase(setup.progress, "reading", 0);
	if (r == 0)
		r = cat_add(set->index, stream, paths, count, err);
	stream_close(stream);
	progress_close(setup.progress);
	return r;
}

int cat_run(int argc, char **argv)
{
	struct cat_options options = { .progress = PROGRESS_NONE };
	struct data_set set = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&cat_line, argc, argv, &options, &operands, &status))
		return status;
	interrupt_install();
	r = data_set_open(argv[1], options.version, &options.verb.demands, &set, &err);
	if (r == 0)
		r = cat_all(&set, options.progress, argv + 2, operands - 1, &err);
	if (r < 0)
		log_error(&err, "cannot read from '%s'", argv[1]);
	data_set_close(&set);
	return r < 0 ? verb_failed() : VERB_DONE;
}
