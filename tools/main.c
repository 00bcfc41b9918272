/* SPDX-License-Identifier: MIT */
/* datasetfsctl: finds the verb that the command line names in a table, and runs it. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/program/descriptors.h"
#include "base/program/output.h"
#include "base/program/signal.h"
#include "verb.h"

struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const struct command_line *line;
	int failed; /* exit status when the output cannot be written */
};

static const struct verb verbs[] = {
	{ "list", list_run, &list_line, VERB_FAILED },
	{ "status", status_run, &status_line, VERB_FAILED },
	{ "top", top_run, &top_line, VERB_FAILED },
	{ "switch", switch_run, &switch_line, VERB_FAILED },
	{ "follow", follow_run, &follow_line, VERB_FAILED },
	{ "upgrade", upgrade_run, &upgrade_line, VERB_FAILED },
	{ "attach", attach_run, &attach_line, VERB_FAILED },
	{ "detach", detach_run, &detach_line, VERB_FAILED },
	{ "attached", attached_run, &attached_line, VERB_FAILED },
	{ "verify", verify_run, &verify_line, VERIFY_INCOMPLETE },
	{ "scrub", scrub_run, &scrub_line, VERIFY_INCOMPLETE },
	{ "stat", stat_run, &stat_line, VERB_FAILED },
	{ "ls", ls_run, &ls_line, VERB_FAILED },
	{ "cat", cat_run, &cat_line, VERB_FAILED },
	{ "extract", extract_run, &extract_line, VERB_FAILED },
	{ "describe", describe_run, &describe_line, VERB_FAILED },
	{ "plan", plan_run, &plan_line, VERB_FAILED },
	{ "dump", dump_run, &dump_line, VERB_FAILED },
	{ "current", current_run, &current_line, VERB_FAILED },
	{ "sign", sign_run, &sign_line, VERB_FAILED },
	{ "remove", remove_run, &remove_line, VERB_FAILED },
	{ "compact", compact_run, &compact_line, VERB_FAILED },
	{ "cache", cache_run, &cache_line, VERB_FAILED },
	{ "warm", warm_run, &warm_line, VERB_FAILED },
	{ "export", export_run, &export_line, VERB_FAILED },
	{ "member", member_run, &member_line, VERB_FAILED },
	{ "nvme", nvme_run, &nvme_line, VERB_FAILED },
};
#define VERB_COUNT (sizeof(verbs) / sizeof(verbs[0]))

/* Prints the help: of each verb the first line of its summary. */
static void main_help(void)
{
	const char *summary;

	printf("Usage: datasetfsctl VERB [OPTIONS] ...\n"
	       "Inspect datasetfs volumes and mounts, manage versions, switch mounts.\n\n");
	for (size_t i = 0; i < VERB_COUNT; i++) {
		summary = verbs[i].line->summary;
		printf("  %-9s%-24s%.*s\n", verbs[i].name, verbs[i].line->usage, (int)strcspn(summary, "\n"),
		       summary);
	}
	printf("\n  -h, --help                show this help, or after a verb its options\n"
	       "  -V, --version             show the release\n");
}

static const struct verb *main_find(const char *name)
{
	for (size_t i = 0; i < VERB_COUNT; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static int main_unknown(const char *word)
{
	struct nearest nearest = nearest_begin(word, strlen(word));

	for (size_t i = 0; i < VERB_COUNT; i++)
		nearest_try(&nearest, verbs[i].name);
	return verb_unknown("datasetfsctl", word, nearest);
}

static int main_flush(int status, int failed)
{
	struct error err = { 0 };

	if (output_flush(&err) == 0)
		return status;
	log_err("%s", err.reason);
	return status == VERB_DONE ? failed : status;
}

int main(int argc, char **argv)
{
	const struct verb *verb;

	descriptors_reserve();
	signal_ignore_size_limit();
	log_set_program("datasetfsctl");
	if (argc < 2) {
		log_err("expected a verb, see 'datasetfsctl --help'");
		return VERB_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		main_help();
		return main_flush(VERB_DONE, VERB_FAILED);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("datasetfsctl %s\n", DATASETFS_RELEASE);
		return main_flush(VERB_DONE, VERB_FAILED);
	}
	verb = main_find(argv[1]);
	if (!verb)
		return main_unknown(argv[1]);
	return main_flush(verb->run(argc - 1, argv + 1), verb->failed);
}
