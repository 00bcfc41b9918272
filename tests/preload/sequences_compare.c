/* SPDX-License-Identifier: MIT */
/* Runs the same sequences on two sides, and finds the fewest calls that make a difference. */
#include "sequences_compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_CALLS 400u

struct side {
	FILE *output;
	pid_t pid;
};

static void side_execute(const char *top, const struct options *options, bool is_preloaded)
{
	char seed[32], count[32];
	const char *argv[14] = { "sequences", "run", top, "--seed", seed, "--count", count, "--skip", options->skip };
	unsigned n = 9;

	snprintf(seed, sizeof(seed), "%" PRIu64, options->seed);
	snprintf(count, sizeof(count), "%" PRIu64, options->count);
	if (options->with_log)
		argv[n++] = "--log";
	if (options->is_warm)
		argv[n++] = "--warm";
	if (options->are_cases)
		argv[n++] = "--cases";
	if (is_preloaded)
		setenv("LD_PRELOAD", options->preload, 1);
	execv("/proc/self/exe", (char **)(uintptr_t)argv);
	perror("sequences: cannot run a side");
	_exit(127);
}

static struct side side_start(const char *top, const struct options *options, bool is_preloaded)
{
	struct side side = { NULL, -1 };
	int pair[2];

	if (pipe(pair) != 0 || (side.pid = fork()) < 0) {
		perror("sequences: cannot run a side");
		exit(1);
	}
	if (side.pid == 0) {
		dup2(pair[1], 1);
		close(pair[0]);
		close(pair[1]);
		side_execute(top, options, is_preloaded);
	}
	close(pair[1]);
	side.output = fdopen(pair[0], "r");
	return side;
}

static void side_end(struct side *side)
{
	int status;

	fclose(side->output);
	waitpid(side->pid, &status, 0);
}

/* All that it printed. */
static char *side_text(const char *top, const struct options *options, bool is_preloaded)
{
	struct side side = side_start(top, options, is_preloaded);
	char *text = NULL;
	size_t size = 0;

	if (getdelim(&text, &size, 0, side.output) < 0)
		text = strdup("");
	side_end(&side);
	return text;
}

/* The two texts, if they are asked for. */
static bool sides_differ(char **tops, const struct options *options, char *ret[2])
{
	char *texts[2];
	bool result;

	for (unsigned i = 0; i < 2; i++)
		texts[i] = side_text(tops[i], options, i == 1 && options->preload);
	result = strcmp(texts[0], texts[1]) != 0;
	for (unsigned i = 0; i < 2; i++)
		if (ret)
			ret[i] = texts[i];
		else
			free(texts[i]);
	return result;
}

/* Both texts line by line; where they differ, both lines. The calls behind the first difference say little. */
static void show_difference(char *texts[2])
{
	char *rest[2] = { texts[0], texts[1] };
	unsigned different = 0;

	while (different < 12 && (*rest[0] || *rest[1])) {
		size_t lengths[2] = { strcspn(rest[0], "\n"), strcspn(rest[1], "\n") };

		if (lengths[0] == lengths[1] && memcmp(rest[0], rest[1], lengths[0]) == 0) {
			printf("  %.*s\n", (int)lengths[0], rest[0]);
		} else {
			printf("- %.*s\n+ %.*s\n", (int)lengths[0], rest[0], (int)lengths[1], rest[1]);
			different++;
		}
		for (unsigned i = 0; i < 2; i++)
			rest[i] += lengths[i] + (rest[i][lengths[i]] != 0);
	}
	if (*rest[0] || *rest[1])
		printf("  …\n");
}

static void list_skipped(const bool *is_skipped, char *ret, size_t room)
{
	size_t length = 0;

	ret[0] = 0;
	for (unsigned i = 0; i < MOST_CALLS; i++)
		if (is_skipped[i])
			length += (size_t)snprintf(ret + length, room - length, "%s%u", length ? "," : "", i);
}

/* Leaves out pieces of the sequence, ever smaller ones, as long as the sides still differ. A minute is enough, where a
 * side hangs until its alarm. */
static void find_fewest(char **tops, struct options *options, char *list, size_t room)
{
	bool is_skipped[MOST_CALLS] = { false }, before[MOST_CALLS];
	time_t end = time(NULL) + 60;

	options->skip = list;
	for (unsigned piece = MOST_CALLS / 2; piece > 0; piece /= 2)
		for (unsigned start = 0; start < MOST_CALLS && time(NULL) < end; start += piece) {
			memcpy(before, is_skipped, sizeof(before));
			for (unsigned i = start; i < start + piece && i < MOST_CALLS; i++)
				is_skipped[i] = true;
			list_skipped(is_skipped, list, room);
			if (memcmp(before, is_skipped, sizeof(before)) != 0 && !sides_differ(tops, options, NULL))
				memcpy(is_skipped, before, sizeof(before));
		}
	list_skipped(is_skipped, list, room);
}

/* A sequence that differed once may not do so when it runs alone, as when the two sides disturb each other. */
static void show_sequence(char **tops, struct options options, char *texts[2])
{
	char list[MOST_CALLS * 5] = "";

	options.count = 1;
	printf("the sides differ: %s--seed %" PRIu64 " --count 1%s\n", options.are_cases ? "--cases " : "",
	       options.seed, options.is_warm ? " --warm" : "");
	if (!options.are_cases && sides_differ(tops, &options, NULL)) {
		for (unsigned i = 0; i < 2; i++)
			free(texts[i]);
		find_fewest(tops, &options, list, sizeof(list));
		sides_differ(tops, &options, texts);
		printf("the fewest calls (- %s, + %s):\n", tops[0], tops[1]);
	} else {
		printf("%s (- %s, + %s):\n", options.are_cases ? "the calls" : "not when it runs alone; what it was",
		       tops[0], tops[1]);
	}
	show_difference(texts);
	for (unsigned i = 0; i < 2; i++)
		free(texts[i]);
}

/* The lines of the next sequence, up to its last one, in *ret; false: there is none. */
static bool side_next(struct side *side, char **ret)
{
	size_t room = 0, length = 0;
	FILE *text = open_memstream(ret, &room);
	bool is_complete = false;
	char *line = NULL;

	while (!is_complete && getline(&line, &length, side->output) > 0) {
		is_complete = strncmp(line, "end ", 4) == 0;
		fputs(line, text);
	}
	fclose(text);
	free(line);
	return is_complete;
}

static bool sequences_are_alike(struct side sides[2], char *ret[2])
{
	bool are_complete = side_next(&sides[0], &ret[0]);

	are_complete = side_next(&sides[1], &ret[1]) && are_complete;
	return are_complete && strcmp(ret[0], ret[1]) == 0;
}

int compare_main(char **tops, const struct options *options)
{
	struct options all = *options;
	char *texts[2] = { NULL, NULL };
	struct side sides[2];

	setvbuf(stdout, NULL, _IOLBF, 0);
	all.with_log = true;
	for (unsigned i = 0; i < 2; i++)
		sides[i] = side_start(tops[i], &all, i == 1 && options->preload);
	for (all.seed = options->seed; all.seed < options->seed + options->count; all.seed++) {
		if (!sequences_are_alike(sides, texts))
			break;
		for (unsigned i = 0; i < 2; i++)
			free(texts[i]);
	}
	for (unsigned i = 0; i < 2; i++)
		side_end(&sides[i]);
	if (all.seed == options->seed + options->count) {
		printf("%" PRIu64 " %s from seed %" PRIu64 " on%s: both sides are alike\n", options->count,
		       options->are_cases ? "cases" : "sequences", options->seed, options->is_warm ? ", warm" : "");
		return 0;
	}
	show_sequence(tops, all, texts);
	return 1;
}
