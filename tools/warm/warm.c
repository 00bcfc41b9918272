/* SPDX-License-Identifier: MIT */
/* datasetfsctl warm: has the daemon of a mount fill the cache of this machine, and says how much fitted. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/interrupt.h"
#include "base/text/format.h"
#include "base/text/json.h"
#include "control.h"
#include "mounts/mounted.h"
#include "text.h"
#include "verb.h"
#include "warm/errand.h"
#include "warm/filler.h"

struct warm_options {
	struct verb_options verb;
	const char *from;
	enum progress_kind progress;
};

static const struct option_spec warm_table[] = {
	{ "from", 0, "FILE", OPTION_TEXT(struct warm_options, from, NULL),
	  "the paths in FILE as well ('-': standard input)" },
	VERB_OPTION_JSON,
	{ "progress", 0, "KIND", OPTION_WORD(struct warm_options, progress, "auto", "bar", "plain", "json", "none"),
	  "auto (default), bar, plain, json or none" },
	{ 0 },
};

const struct command_line warm_line = {
	.program = "datasetfsctl warm",
	.usage = "MNT [PATH]...",
	.operands = { 1, OPERANDS_ANY },
	.summary = "Fill the cache of a mount with files.\n"
		   "Without PATH, all files. PATH is a file, or a directory with what is below, from the root of the\n"
		   "mount. Returns when they can be read from the cache, and says how much fitted.",
	.options = warm_table,
};

/* ---- what is named ---- */

static int warm_name(const struct warm_options *options, int root, char *const *paths, int count,
		     struct pathlist *list, struct error *err)
{
	int r = 0;

	if (options->from)
		r = pathlist_read(list, root, options->from, err);
	else if (!count)
		r = pathlist_add(list, root, "", err);
	for (int i = 0; r == 0 && i < count; i++)
		r = pathlist_add(list, root, paths[i], err);
	return r;
}

/* The mount is kept busy for as long as paths are looked up. */
static int warm_list(const struct warm_options *options, char *const *words, int count, struct pathlist *list,
		     struct error *err)
{
	struct mounted mounted = { 0 };
	auto_close int root = -1;
	int r = control_find(words[0], "it keeps no contents on this machine", &mounted, err);

	if (r < 0)
		return r;
	root = open(mounted.point, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		r = error_errno(err, "cannot open '%s'", mounted.point);
	else
		r = warm_name(options, root, words + 1, count - 1, list, err);
	mounted_free(&mounted);
	return r;
}

static int warm_do(struct errand *errand, const struct warm_options *options, struct error *err)
{
	enum progress_kind kind = options->progress;
	int r;

	if (kind == PROGRESS_AUTO && !isatty(STDERR_FILENO))
		kind = PROGRESS_NONE;
	r = progress_open(kind, &errand->progress, err);
	if (r < 0)
		return r;
	progress_phase(errand->progress, "looking", 0);
	r = errand_run(errand, err);
	progress_close(errand->progress);
	return r;
}

/* ---- output ---- */

static void warm_part(const char *before, const struct dsfs_warm_count *count, const char *one, const char *many)
{
	char size[SIZE_TEXT_SIZE];

	text_print("%s%" PRIu64 " %s with %s %s", before, count->files, count->files == 1 ? "file" : "files",
		   format_size(count->bytes, size), count->files == 1 ? one : many);
}

static void warm_text(const struct errand *errand)
{
	const struct dsfs_warm *answer = &errand->answer;
	bool is_full = answer->state == DSFS_WARM_FULL;

	text_print("'%s': version '%s': ", errand->mount, answer->label);
	warm_part("", &answer->cached, "is in the cache", "are in the cache");
	if (answer->missing.files)
		warm_part(", ", &answer->missing, is_full ? "did not fit" : "is not",
			  is_full ? "did not fit" : "are not");
	if (answer->index.files)
		warm_part(", ", &answer->index, "is in the index", "are in the index");
	if (answer->large.files)
		warm_part(", ", &answer->large, "is larger than 1 MiB and never cached",
			  "are larger than 1 MiB and never cached");
	putchar('\n');
}

static void warm_json_count(struct json *json, const char *name, const struct dsfs_warm_count *count)
{
	json_begin_object(json, name);
	json_number(json, "files", count->files);
	json_number(json, "bytes", count->bytes);
	json_end_object(json);
}

static void warm_json(const struct errand *errand, double seconds)
{
	static const char *const ends[] = { [DSFS_WARM_DONE] = "done", [DSFS_WARM_FULL] = "full",
					    [DSFS_WARM_STOPPED] = "stopped", [DSFS_WARM_FAILED] = "failed" };
	const struct dsfs_warm *answer = &errand->answer;
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "mount", errand->mount);
	json_string(&json, "label", answer->label);
	json_number(&json, "sequence", answer->sequence);
	json_string(&json, "end", ends[answer->state]);
	json_string(&json, "reason", answer->reason);
	warm_json_count(&json, "cached", &answer->cached);
	warm_json_count(&json, "missing", &answer->missing);
	warm_json_count(&json, "in_index", &answer->index);
	warm_json_count(&json, "too_large", &answer->large);
	warm_json_count(&json, "read", &answer->read);
	json_number(&json, "cache_size", answer->cache_size);
	json_real(&json, "seconds", seconds);
	json_end_object(&json);
	putchar('\n');
}

/* Why the job ended early. The mount does not know which other one fills its cache. */
static int warm_failed(const struct errand *errand, struct error *err)
{
	auto_free char *filler = NULL;
	const char *reason = errand->answer.reason;

	if (errand->answer.state == DSFS_WARM_FAILED && filler_find(errand->mount, &filler))
		return error_set(err, -EIO, "%.500s: '%s'", reason, filler);
	return error_set(err, -EIO, "%.500s", reason);
}

int warm_run(int argc, char **argv)
{
	struct warm_options options = { .progress = PROGRESS_AUTO };
	struct pathlist list = { 0 };
	struct errand errand = { .list = &list };
	struct error err = { 0 };
	int64_t start = clock_now();
	int operands, status, r;

	if (!verb_parse(&warm_line, argc, argv, &options, &operands, &status))
		return status;
	interrupt_install();
	errand.mount = argv[1];
	r = warm_list(&options, argv + 1, operands, &list, &err);
	if (r == 0)
		r = warm_do(&errand, &options, &err);
	pathlist_free(&list);
	if (errand_has_ended(&errand) && options.verb.json)
		warm_json(&errand, (double)(clock_now() - start) / 1e9);
	else if (errand_has_ended(&errand))
		warm_text(&errand);
	if (r == 0 && errand.answer.state >= DSFS_WARM_STOPPED)
		r = warm_failed(&errand, &err);
	if (r < 0)
		log_error(&err, "cannot warm '%s'", argv[1]);
	fflush(stdout); /* a signal that came ends the program at once */
	return r < 0 ? verb_failed() : VERB_DONE;
}
