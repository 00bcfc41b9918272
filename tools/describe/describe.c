/* SPDX-License-Identifier: MIT */
/* datasetfsctl describe: shows the contents of a version, or its changes since another. Reads only the index. */
#include "base/cleanup.h"
#include "base/log.h"
#include "describe/common/chart.h"
#include "describe/common/subject.h"
#include "describe/diff/diff.h"
#include "describe/diff/diff_json.h"
#include "describe/diff/diff_text.h"
#include "describe/survey/survey.h"
#include "describe/survey/survey_json.h"
#include "describe/survey/survey_text.h"
#include "verb.h"
#include "volume.h"

struct describe_options {
	struct verb_options common;
	const char *former; /* label of the version to compare with */
	const char *folder;
	uint64_t limit;
};

static const struct option_spec describe_table[] = {
	VERB_OPTIONS_DEMANDS,
	{ "diff", 0, "FROM", OPTION_TEXT(struct describe_options, former, version_check_label),
	  "show what LABEL changed against version FROM" },
	{ "folder", 0, "PATH", OPTION_TEXT(struct describe_options, folder, NULL),
	  "look only at what lies below PATH of the version" },
	{ "limit", 0, "N", OPTION_NUMBER(struct describe_options, limit, 0, 1000000),
	  "list at most N folders, kinds, files or changes of a kind (20)" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line describe_line = {
	.program = "datasetfsctl describe",
	.usage = "VOLUME|MNT [LABEL]",
	.operands = { 1, 2 },
	.summary = "Show what a version holds or changed.\n"
		   "Without LABEL, the version is the one that MNT serves or the current one of VOLUME.\n"
		   "Only the index is read: folders, sizes, kinds, the largest files, duplicates, compression.",
	.options = describe_table,
};

static int describe_survey(const struct describe_options *options, const struct subject *subject, struct error *err)
{
	struct survey *survey = NULL;
	struct chart chart;
	int r = survey_run(subject->index, subject->below, subject->limit, &survey, err);

	if (r == 0 && options->common.json) {
		survey_json(subject, survey);
	} else if (r == 0) {
		chart_open(&chart);
		r = survey_text(&chart, subject, survey, err);
	}
	survey_free(survey);
	return r;
}

static int describe_diff(const struct describe_options *options, const struct subject *to, struct error *err)
{
	const struct demands demands = { .trust = options->common.demands.trust }; /* a digest is of one version */
	struct subject from = { 0 };
	struct diff *diff = NULL;
	struct chart chart;
	int r = subject_open(to->volume, options->former, &demands, &from, err);

	if (r == 0)
		r = subject_limit(&from, to->below, to->limit, err);
	if (r == 0)
		r = diff_run(&from, to, &diff, err);
	if (r == 0 && options->common.json) {
		diff_json(&from, to, diff);
	} else if (r == 0) {
		chart_open(&chart);
		r = diff_text(&chart, &from, to, diff, err);
	}
	diff_free(diff);
	subject_close(&from);
	return r;
}

int describe_run(int argc, char **argv)
{
	struct describe_options options = { .limit = 20 };
	auto_volume struct volume *volume = NULL;
	struct subject subject = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&describe_line, argc, argv, &options, &operands, &status))
		return status;
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = subject_open(volume, operands > 1 ? argv[2] : NULL, &options.common.demands, &subject, &err);
	if (r == 0)
		r = subject_limit(&subject, options.folder, options.limit, &err);
	if (r == 0)
		r = (options.former ? describe_diff : describe_survey)(&options, &subject, &err);
	subject_close(&subject);
	if (r < 0) {
		log_error(&err, "cannot describe '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
