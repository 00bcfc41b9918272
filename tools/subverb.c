/* SPDX-License-Identifier: MIT */
/* Chooses a verb by the second word, and leaves the other words to that verb. */
#include "subverb.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "verb.h"

static int subverb_width(const struct subverb *verbs, size_t count)
{
	size_t width = 0;

	for (size_t i = 0; i < count; i++)
		if (strlen(verbs[i].name) > width)
			width = strlen(verbs[i].name);
	return (int)width + 1;
}

static void subverb_help(const struct command_line *line, const char *page, const struct subverb *verbs, size_t count)
{
	int summary = (int)strcspn(line->summary, "."), width = subverb_width(verbs, count);

	printf("Usage: %s VERB [OPTIONS] ...\n%.*s%s.\n\n", line->program, summary, line->summary, page);
	for (size_t i = 0; i < count; i++)
		printf("  %-*s%-24s%.*s\n", width, verbs[i].name, verbs[i].line->usage,
		       (int)strcspn(verbs[i].line->summary, "\n"), verbs[i].line->summary);
	printf("\n  -h, --help                show this help, or after a verb its options\n");
}

int subverb_run(const struct command_line *line, const char *page, const struct subverb *verbs, size_t count, int argc,
		char **argv)
{
	struct nearest nearest;

	if (argc < 2) {
		log_err("expected a verb, see '%s --help'", line->program);
		return VERB_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		subverb_help(line, page, verbs, count);
		return VERB_DONE;
	}
	nearest = nearest_begin(argv[1], strlen(argv[1]));
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(verbs[i].name, argv[1]))
			return verbs[i].run(argc - 1, argv + 1);
		nearest_try(&nearest, verbs[i].name);
	}
	return verb_unknown(line->program, argv[1], nearest);
}
