/* SPDX-License-Identifier: MIT */
/* Parses filter rules and matches paths. */
#include "source/filter.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"
#include "base/text/line.h"

struct filter_rule {
	bool include;
	bool only_directories;
	bool whole_path; /* false: only the last component is compared */
	char *pattern;
};

struct filter {
	struct filter_rule *rules;
	size_t count;
};

struct filter *filter_new(void)
{
	return calloc(1, sizeof(struct filter));
}

void filter_free(struct filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->count; i++)
		free(filter->rules[i].pattern);
	free(filter->rules);
	free(filter);
}

bool filter_is_empty(const struct filter *filter)
{
	return !filter || !filter->count;
}

int filter_add(struct filter *filter, bool include, const char *pattern, struct error *err)
{
	bool anchored = pattern[0] == '/';
	size_t length = strlen(pattern + anchored);
	struct filter_rule rule = { .include = include };
	int r;

	if (!length)
		return error_set(err, -EINVAL, "'%s' is not a pattern", pattern);
	rule.pattern = strdup(pattern + anchored);
	r = rule.pattern ? grow_one(filter->rules, filter->count, err) : error_no_memory(err);
	if (r < 0) {
		free(rule.pattern);
		return r;
	}
	rule.only_directories = length > 1 && rule.pattern[length - 1] == '/';
	if (rule.only_directories)
		rule.pattern[length - 1] = 0;
	rule.whole_path = anchored || strchr(rule.pattern, '/');
	filter->rules[filter->count++] = rule;
	return 0;
}

static int filter_add_line(struct filter *filter, const char *line, struct error *err)
{
	if (!*line || *line == '#')
		return 0;
	if ((line[0] != '+' && line[0] != '-') || line[1] != ' ')
		return error_set(err, -EINVAL, "'%s' is not a rule, expected '+ PATTERN' or '- PATTERN'", line);
	return filter_add(filter, line[0] == '+', line + 2, err);
}

int filter_add_file(struct filter *filter, const char *path, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	auto_free char *line = NULL;
	size_t room = 0;
	int r;

	if (!file)
		return error_errno(err, "cannot open '%s'", path);
	for (unsigned number = 1; getline(&line, &room, file) >= 0; number++) {
		line_cut(line);
		r = filter_add_line(filter, line, err);
		if (r < 0)
			return error_wrap(err, r, "'%s' line %u", path, number);
	}
	if (ferror(file))
		return error_errno(err, "cannot read '%s'", path);
	return 0;
}

/* Matches c against the set "[...]" at *pattern and advances *pattern. A '[' without a ']' stands for itself. */
static bool filter_match_set(const char **pattern, unsigned char c)
{
	const char *p = *pattern + 1;
	bool negated = *p == '!' || *p == '^';
	bool found = false;

	p += negated;
	for (const char *first = p; *p && (*p != ']' || p == first); p++) {
		unsigned char low = (unsigned char)*p, high = low;

		if (p[1] == '-' && p[2] && p[2] != ']') {
			high = (unsigned char)p[2];
			p += 2;
		}
		found |= c >= low && c <= high;
	}
	if (*p != ']') {
		*pattern += 1;
		return c == '[';
	}
	*pattern = p + 1;
	return c != '/' && found != negated;
}

/* Matches one character against one element of the pattern that is not a star. */
static bool filter_match_one(const char **pattern, char c)
{
	const char *p = *pattern;

	if (*p == '[')
		return filter_match_set(pattern, (unsigned char)c);
	if (*p == '?') {
		*pattern = p + 1;
		return c != '/';
	}
	if (*p == '\\' && p[1])
		p++;
	*pattern = p + 1;
	return *p == c;
}

/* A place to try again: after a star, which then matches one more character. */
struct filter_retry {
	const char *pattern, *text;
};

/* Matches text against a pattern. A '**' makes all stars before it final, a '*' only the '*' before it, so the work is
 * at most quadratic. */
static bool filter_match_pattern(const char *pattern, const char *text)
{
	struct filter_retry star = { NULL, NULL }, globstar = { NULL, NULL };

	while (*text || *pattern) {
		if (pattern[0] == '*' && pattern[1] == '*') {
			globstar = (struct filter_retry){ pattern += 2, text };
			star.pattern = NULL;
		} else if (*pattern == '*') {
			star = (struct filter_retry){ ++pattern, text };
		} else if (*text && *pattern && filter_match_one(&pattern, *text)) {
			text++;
		} else if (star.pattern && *star.text && *star.text != '/') {
			pattern = star.pattern;
			text = ++star.text;
		} else if (globstar.pattern && *globstar.text) {
			pattern = globstar.pattern;
			text = ++globstar.text;
			star.pattern = NULL;
		} else {
			return false;
		}
	}
	return true;
}

static bool filter_rule_matches(const struct filter_rule *rule, const char *path, const char *name,
				bool is_directory)
{
	if (rule->only_directories && !is_directory)
		return false;
	return filter_match_pattern(rule->pattern, rule->whole_path ? path : name);
}

bool filter_match(const struct filter *filter, const char *path, bool is_directory)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; filter && i < filter->count; i++)
		if (filter_rule_matches(&filter->rules[i], path, name, is_directory))
			return filter->rules[i].include;
	return true;
}

bool filter_match_all(const struct filter *filter, char *path, bool is_directory)
{
	bool wanted = true;

	if (filter_is_empty(filter) || !*path)
		return true;
	for (char *slash = strchr(path, '/'); slash && wanted; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		wanted = filter_match(filter, path, true);
		*slash = '/';
	}
	return wanted && filter_match(filter, path, is_directory);
}
