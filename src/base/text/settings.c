/* SPDX-License-Identifier: MIT */
/* Cuts lines into words, in place. */
#include "base/text/settings.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/descent.h"
#include "base/mountinfo.h"

static int settings_split(char *line, char *words[SETTINGS_WORDS + 1], size_t *ret_count, struct error *err)
{
	char *save = NULL, *word = strtok_r(line, " \t\r\n", &save);
	size_t count = 0;

	for (; word && *word != '#'; word = strtok_r(NULL, " \t\r\n", &save)) {
		if (count == SETTINGS_WORDS)
			return error_set(err, -EINVAL, "there are more than %u words", SETTINGS_WORDS);
		mountinfo_unescape(word);
		words[count++] = word;
	}
	words[count] = NULL;
	*ret_count = count;
	return 0;
}

void settings_write(FILE *out, const char *word, char end)
{
	for (const char *at = word; *at; at++)
		if (strchr(" \t\r\n\\", *at) || (*at == '#' && at == word))
			fprintf(out, "\\%03o", (unsigned char)*at);
		else
			putc(*at, out);
	putc(end, out);
}

static int settings_lines(FILE *in, const char *path, settings_line *line, void *argument, struct error *err)
{
	char *words[SETTINGS_WORDS + 1];
	auto_free char *text = NULL;
	size_t room = 0, count = 0;
	int r;

	for (unsigned number = 1; getline(&text, &room, in) >= 0; number++) {
		r = settings_split(text, words, &count, err);
		if (r == 0 && count)
			r = line(argument, words, count, err);
		if (r < 0)
			return error_wrap(err, r, "'%s', line %u", path, number);
	}
	return ferror(in) ? error_errno(err, "cannot read '%s'", path) : 0;
}

int settings_read(const char *path, settings_line *line, void *argument, struct error *err)
{
	auto_fclose FILE *in = NULL;
	auto_close int fd = -1;
	struct stat st;
	int r = descent_open_file(path, 0, &fd, &st, err);

	if (r < 0)
		return r;
	in = fdopen(fd, "r");
	if (!in)
		return error_errno(err, "cannot open '%s'", path);
	(void)take_fd(&fd);
	return settings_lines(in, path, line, argument, err);
}
