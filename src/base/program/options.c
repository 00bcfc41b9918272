/* SPDX-License-Identifier: MIT */
/* Parses command lines by a table. */
#include "base/program/options.h"

#include <errno.h>
#include <string.h>

#include "base/text/nearest.h"

#ifndef DATASETFS_RELEASE
#define DATASETFS_RELEASE "unknown"
#endif

static const struct option_spec *options_find_long(const struct command_line *line, const char *name, size_t length)
{
	for (const struct option_spec *o = line->options; o->name; o++)
		if (strlen(o->name) == length && !memcmp(o->name, name, length))
			return o;
	return NULL;
}

static const struct option_spec *options_find_letter(const struct command_line *line, char letter)
{
	for (const struct option_spec *o = line->options; o->name; o++)
		if (o->letter == letter)
			return o;
	return NULL;
}

/* An optional argument is written "--name=value", never "--name value". */
static bool options_is_optional(const struct option_spec *o)
{
	return o->argument[0] == '[';
}

static int options_apply(const struct option_spec *o, void *target, const char *argument, struct error *err)
{
	int r = option_set(&o->value, target, argument, err);

	if (r == 0 || o->value.names_itself)
		return r;
	return error_wrap(err, r, "option '--%s'", o->name);
}

static int options_unknown(const struct command_line *line, const char *name, size_t length, struct error *err)
{
	struct nearest nearest = nearest_begin(name, length);
	char hint[NEAREST_HINT_SIZE];

	for (const struct option_spec *o = line->options; o->name; o++)
		nearest_try(&nearest, o->name);
	nearest_try(&nearest, "help");
	nearest_try(&nearest, "version");
	nearest_hint(&nearest, "--", line->program, hint);
	return error_set(err, -EINVAL, "unknown option '--%.*s', %s", (int)length, name, hint);
}

/* Parses "--name", "--name=value" or "--name value"; *i advances over a value in the next word. */
static int options_long(const struct command_line *line, int argc, char **argv, int *i, void *target,
			struct error *err)
{
	const char *word = argv[*i] + 2;
	const char *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_spec *o = options_find_long(line, word, length);

	if (!o)
		return options_unknown(line, word, length, err);
	if (!o->argument && equals)
		return error_set(err, -EINVAL, "option '--%s' takes no value", o->name);
	if (!o->argument || equals || options_is_optional(o))
		return options_apply(o, target, equals ? equals + 1 : NULL, err);
	if (*i + 1 >= argc)
		return error_set(err, -EINVAL, "option '--%s' needs %s", o->name, o->argument);
	return options_apply(o, target, argv[++*i], err);
}

/* Parses "-f", "-fd", "-j4" or "-j 4"; *i advances over a value in the next word. */
static int options_short(const struct command_line *line, int argc, char **argv, int *i, void *target,
			 struct error *err)
{
	const char *value;
	int r;

	for (const char *c = argv[*i] + 1; *c; c++) {
		const struct option_spec *o = options_find_letter(line, *c);

		if (!o)
			return error_set(err, -EINVAL, "unknown option '-%c', see '%s --help'", *c, line->program);
		if (!o->argument) {
			r = options_apply(o, target, NULL, err);
			if (r < 0)
				return r;
			continue;
		}
		value = c[1] ? c + 1 : *i + 1 < argc ? argv[++*i] : NULL;
		if (!value)
			return error_set(err, -EINVAL, "option '-%c' needs %s", *c, o->argument);
		return options_apply(o, target, value, err);
	}
	return 0;
}

/* Handles --help and --version. A table may define a "version" or these letters itself. */
static bool options_builtin(const struct command_line *line, const char *word)
{
	if (!strcmp(word, "--help") || (!strcmp(word, "-h") && !options_find_letter(line, 'h'))) {
		options_help(line, stdout);
		return true;
	}
	if ((!strcmp(word, "--version") && !options_find_long(line, "version", 7)) ||
	    (!strcmp(word, "-V") && !options_find_letter(line, 'V'))) {
		printf("%s %s\n", line->program, DATASETFS_RELEASE);
		return true;
	}
	return false;
}

int options_parse(const struct command_line *line, int argc, char **argv, void *target, bool *ret_done,
		  struct error *err)
{
	int operands = 0;
	bool only_operands = false;
	int r;

	*ret_done = false;
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];

		if (only_operands || word[0] != '-' || !word[1]) {
			argv[1 + operands++] = word;
			only_operands |= line->operands_end_options;
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (options_builtin(line, word)) {
			*ret_done = true;
			return 0;
		} else {
			r = word[1] == '-' ? options_long(line, argc, argv, &i, target, err) :
					     options_short(line, argc, argv, &i, target, err);
			if (r < 0)
				return r;
		}
	}
	return operands;
}

void options_help_line(const char *option, const char *description, FILE *out)
{
	if (strlen(option) > 27)
		fprintf(out, "%s\n%28s%s\n", option, "", description);
	else
		fprintf(out, "%-28s%s\n", option, description);
}

static void options_help_row(const char *name, char letter, const char *argument, const char *help, FILE *out)
{
	char left[64];

	snprintf(left, sizeof(left), "  %c%c%s--%s%s%s", letter ? '-' : ' ', letter ? letter : ' ',
		 letter ? ", " : "  ", name, argument && argument[0] != '[' ? " " : "", argument ? argument : "");
	options_help_line(left, help, out);
}

void options_help(const struct command_line *line, FILE *out)
{
	fprintf(out, "Usage: %s%s%s\n%s\n\n", line->program, *line->usage ? " " : "", line->usage, line->summary);
	for (const struct option_spec *o = line->options; o->name; o++)
		options_help_row(o->name, o->letter, o->argument, o->help, out);
	options_help_row("help", 'h', NULL, "show this help", out);
	if (!options_find_long(line, "version", 7))
		options_help_row("version", 'V', NULL, "show the release", out);
	if (line->more_help)
		line->more_help(out);
}
