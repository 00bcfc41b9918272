/* SPDX-License-Identifier: MIT */
/* Follows no links: the checks of trust= and cache= look at each name of the path. */
#include "options/option_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Cuts off the next word, and takes the quotation marks off its value, which may then have commas, as in mount(8).
 * NULL: there is none. */
static char *option_list_cut(char **rest)
{
	char *word = *rest, *value, *end = NULL;

	value = word ? word + strcspn(word, ",=") : NULL;
	if (value && value[0] == '=' && value[1] == '"')
		end = strchr(value + 2, '"');
	if (!end || (end[1] && end[1] != ','))
		return strsep(rest, ",");
	*rest = end[1] ? end + 2 : NULL;
	memmove(value + 1, value + 2, (size_t)(end - value) - 2);
	end[-1] = 0;
	return word;
}

/* Whether the value is a relative path. */
static bool option_list_is_relative(const char *word)
{
	const char *value = strchr(word, '=');

	return value && value[1] && value[1] != '/' && mount_options_names_file(word);
}

/* Returns what stands in front of a value: the working directory and a slash if that is a relative path, or nothing. */
static int option_list_folder(const char *word, char **ret, struct error *err)
{
	auto_free char *folder = NULL;

	if (!option_list_is_relative(word)) {
		*ret = strdup("");
		return *ret ? 0 : error_no_memory(err);
	}
	folder = getcwd(NULL, 0);
	if (!folder)
		return error_errno(err, "mount option '%s': cannot find the working directory", word);
	if (strchr(folder, ',') && strchr(folder, '"'))
		return error_set(err, -EINVAL, "mount option '%s': the name of the working directory, '%s', has a "
				 "comma and a quotation mark: give an absolute path", word, folder);
	return asprintf(ret, "%s/", folder) < 0 ? error_no_memory(err) : 0;
}

/* Adds a word to the list, which may move. */
static int option_list_add(char **list, const char *word, struct error *err)
{
	const char *value = word + strcspn(word, "="), *quote;
	auto_free char *folder = NULL, *before = *list;
	int r = option_list_folder(word, &folder, err);

	*list = NULL;
	if (r < 0)
		return r;
	value += *value == '=';
	quote = strchr(value, ',') || strchr(folder, ',') ? "\"" : "";
	if (asprintf(list, "%s%s%.*s%s%s%s%s", before ? before : "", before ? "," : "", (int)(value - word), word,
		     quote, folder, value, quote) >= 0)
		return 0;
	*list = NULL;
	return error_no_memory(err);
}

int option_list_absolute(const char *list, char **ret, struct error *err)
{
	auto_free char *copy = strdup(list), *absolute = NULL;
	int r = copy ? 0 : error_no_memory(err);
	char *rest = copy, *word;

	while (r == 0 && (word = option_list_cut(&rest)))
		r = option_list_add(&absolute, word, err);
	if (r == 0)
		*ret = take_ptr(&absolute);
	return r;
}

int option_list_set(char *list, struct mount_options *options, struct error *err)
{
	char *word;
	int r = 0;

	while (r == 0 && (word = option_list_cut(&list)))
		r = mount_options_set(options, word, err);
	return r;
}

int option_list_read(const char *list, struct mount_options *ret, char **ret_words, struct error *err)
{
	auto_free char *words = strdup(list);
	struct mount_options options;
	int r;

	if (!words)
		return error_no_memory(err);
	mount_options_init(&options);
	options.ignores_rw = true; /* mount(8) may have given it */
	r = option_list_set(words, &options, err);
	if (r < 0)
		return r;
	*ret = options;
	*ret_words = take_ptr(&words);
	return 0;
}
