/* SPDX-License-Identifier: MIT */
/* Lines of words: 'dataset NAME VOLUME [OPTIONS]', 'paths inline'. */
#include "csi/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define CONF_BLANKS " \t\r\n"
#define CONF_WORDS  5u /* one more than a line may have */

/* Cuts a line into words, up to a '#' that begins one. */
static size_t conf_split(char *line, char *words[CONF_WORDS])
{
	size_t count = 0;
	char *rest = line, *word;

	while (count < CONF_WORDS && (word = strtok_r(rest, CONF_BLANKS, &rest)) && *word != '#')
		words[count++] = word;
	return count;
}

static int conf_copy(char **ret, const char *text, struct error *err)
{
	*ret = text ? strdup(text) : NULL;
	return !text || *ret ? 0 : error_no_memory(err);
}

static int conf_check(const struct conf *conf, const char *name, const char *volume, struct error *err)
{
	if (strpbrk(name, CONF_OF_VOLUMES))
		return error_set(err, -EINVAL, "name '%s' has a '/', ':' or ',', as volumes have", name);
	if (conf_find(conf, name))
		return error_set(err, -EINVAL, "data set '%s' is there twice", name);
	if (*volume != '/' && !strchr(volume, ':'))
		return error_set(err, -EINVAL, "volume '%s' is neither an absolute path nor an identity", volume);
	return 0;
}

static int conf_add(struct conf *conf, char *words[], size_t count, struct error *err)
{
	struct conf_data_set set = { 0 };
	int r;

	if (count != 3 && count != 4)
		return error_set(err, -EINVAL, "expected 'dataset NAME VOLUME [OPTIONS]'");
	r = conf_check(conf, words[1], words[2], err);
	if (r == 0)
		r = grow_one(conf->sets, conf->count, err);
	if (r == 0)
		r = conf_copy(&set.name, words[1], err);
	if (r == 0)
		r = conf_copy(&set.volume, words[2], err);
	if (r == 0)
		r = conf_copy(&set.options, count == 4 ? words[3] : NULL, err);
	if (r == 0) {
		conf->sets[conf->count++] = set;
		return 0;
	}
	free(set.name);
	free(set.volume);
	return r;
}

static int conf_line(struct conf *conf, char *line, struct error *err)
{
	char *words[CONF_WORDS];
	size_t count = conf_split(line, words);

	if (!count)
		return 0;
	if (!strcmp(words[0], "dataset"))
		return conf_add(conf, words, count, err);
	if (strcmp(words[0], "paths") != 0)
		return error_set(err, -EINVAL, "'%s': expected 'dataset' or 'paths'", words[0]);
	if (count != 2 || strcmp(words[1], "inline") != 0)
		return error_set(err, -EINVAL, "expected 'paths inline'");
	conf->inline_paths = true;
	return 0;
}

static int conf_lines(struct conf *conf, FILE *in, const char *path, struct error *err)
{
	auto_free char *line = NULL;
	unsigned number = 0;
	size_t room = 0;
	int r = 0;

	while (r == 0 && getline(&line, &room, in) >= 0) {
		number++;
		r = conf_line(conf, line, err);
	}
	if (r < 0)
		return error_wrap(err, r, "'%s', line %u", path, number);
	return ferror(in) ? error_errno(err, "cannot read '%s'", path) : 0;
}

/* It says which files of the machine are opened, by root. */
static int conf_trust(FILE *in, const char *path, struct error *err)
{
	struct stat st;

	if (fstat(fileno(in), &st) < 0)
		return error_errno(err, "cannot read '%s'", path);
	if (st.st_uid != 0 || (st.st_mode & 022))
		return error_set(err, -EPERM, "'%s' can be changed by others than root: 'chown root %s; chmod 644 %s'",
				 path, path, path);
	return 0;
}

int conf_read(const char *path, struct conf *ret, struct error *err)
{
	auto_fclose FILE *in = fopen(path, "re");
	struct conf conf = { 0 };
	int r;

	if (!in && errno == ENOENT) {
		*ret = conf;
		return 0;
	}
	r = in ? conf_trust(in, path, err) : error_errno(err, "cannot open '%s'", path);
	if (r == 0)
		r = conf_lines(&conf, in, path, err);
	if (r < 0)
		conf_free(&conf);
	else
		*ret = conf;
	return r;
}

void conf_free(struct conf *conf)
{
	for (size_t i = 0; i < conf->count; i++) {
		free(conf->sets[i].name);
		free(conf->sets[i].volume);
		free(conf->sets[i].options);
	}
	free(conf->sets);
	*conf = (struct conf){ 0 };
}

const struct conf_data_set *conf_find(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->count; i++)
		if (!strcmp(conf->sets[i].name, name))
			return &conf->sets[i];
	return NULL;
}
