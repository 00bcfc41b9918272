/* SPDX-License-Identifier: MIT */
/* Decides which paths are packed. As in rsync, the first rule that matches wins; a path that matches none is packed. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

struct filter;

struct filter *filter_new(void); /* NULL: out of memory */
void filter_free(struct filter *filter);
/* Adds a rule. A pattern that starts with '/' or has one inside is anchored at the source; one without matches the last
 * component anywhere. '*' and '?' stop at '/', '**' does not, '[a-z]' and '[!a]' are sets, '\' quotes, a
 * trailing '/' means directories only. */
must_check int filter_add(struct filter *filter, bool include, const char *pattern, struct error *err);
/* Adds the rules of a file with lines "+ PATTERN", "- PATTERN", "# comment" and blank ones. */
must_check int filter_add_file(struct filter *filter, const char *path, struct error *err);
bool filter_is_empty(const struct filter *filter);
/* Returns whether the path is packed. It is relative to the source, without a leading '/'. */
bool filter_match(const struct filter *filter, const char *path, bool is_directory);
/* The same for a path that no scan led to: the directories above it must be packed too. Changes the path meanwhile. */
bool filter_match_all(const struct filter *filter, char *path, bool is_directory);
