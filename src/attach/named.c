/* SPDX-License-Identifier: MIT */
/* Reads the file line by line to its end, so that a mistake in it shows at once, whichever name is asked for. */
#include "attach/named.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mountinfo.h"

struct named_line {
	char *name, *volume, *options; /* options: NULL if there are none */
};

/* Cuts a line into fields, in place. Returns 0 if it has none: it is empty or a comment. */
static int named_parse(char *line, struct named_line *ret, struct error *err)
{
	static const char blanks[] = " \t\r\n";
	char *save = NULL, *more;
	int r;

	*ret = (struct named_line){ .name = strtok_r(line, blanks, &save) };
	if (!ret->name || *ret->name == '#')
		return 0;
	ret->volume = strtok_r(NULL, blanks, &save);
	ret->options = strtok_r(NULL, blanks, &save);
	more = strtok_r(NULL, blanks, &save);
	if (!ret->volume || more)
		return error_set(err, -EINVAL, "%s, expected NAME VOLUME [OPTIONS]",
				 more ? "there are more than three fields" : "there is no volume");
	r = named_check(ret->name, err);
	mountinfo_unescape(ret->volume);
	if (ret->options)
		mountinfo_unescape(ret->options);
	return r < 0 ? r : 1;
}

static int named_take(const struct named_line *line, struct key *key, struct error *err)
{
	auto_key struct key found = { 0 };
	int r;

	if (key->volume)
		return error_set(err, -EINVAL, "data set '%s' is there twice", line->name);
	if (*line->volume != '/' && !strchr(line->volume, ':'))
		return error_set(err, -EINVAL, "the volume '%s' is a relative path, expected an absolute one",
				 line->volume);
	r = key_begin(line->volume, &found, err);
	if (r == 0 && line->options)
		r = key_say_list(&found, KEY_ADMIN, line->options, err);
	if (r == 0) {
		*key = found;
		found = (struct key){ 0 };
	}
	return r;
}

static int named_search(FILE *file, const char *name, unsigned *ret_number, struct key *key, struct error *err)
{
	auto_free char *text = NULL;
	struct named_line line;
	size_t size = 0;
	int r = 0;

	for (*ret_number = 1; r >= 0 && getline(&text, &size, file) >= 0; ++*ret_number) {
		r = named_parse(text, &line, err);
		if (r > 0 && !strcmp(line.name, name))
			r = named_take(&line, key, err);
		if (r < 0)
			return r;
	}
	return ferror(file) ? error_set(err, -EIO, "cannot read it") : 0;
}

static int named_open(const char *path, FILE **ret, struct error *err)
{
	auto_fclose FILE *file = fopen(path, "re");
	struct stat st;

	if (!file || fstat(fileno(file), &st) < 0)
		return error_errno(err, "cannot open '%s', which says what data sets there are", path);
	if (st.st_uid != 0 || st.st_mode & (S_IWGRP | S_IWOTH))
		return error_set(err, -EPERM, "'%s' could be changed by others than root: 'chown root' and "
				 "'chmod go-w' it", path);
	*ret = take_ptr(&file);
	return 0;
}

int named_begin(const char *path, const char *name, struct key *ret, struct error *err)
{
	auto_key struct key key = { 0 };
	auto_fclose FILE *file = NULL;
	unsigned number;
	int r = named_check(name, err);

	if (r == 0)
		r = named_open(path, &file, err);
	if (r < 0)
		return r;
	r = named_search(file, name, &number, &key, err);
	if (r < 0)
		return error_wrap(err, r, "'%s', line %u", path, number);
	if (!key.volume)
		return error_set(err, -ENOENT, "there is no data set '%s' in '%s'", name, path);
	*ret = key;
	key = (struct key){ 0 };
	return 0;
}
