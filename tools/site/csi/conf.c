/* SPDX-License-Identifier: MIT */
/* Takes its lines: 'paths inline', 'trust FILE', 'revoked FILE', 'direct_group GROUP'. */
#include "csi/conf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/named.h"
#include "base/cleanup.h"
#include "base/text/settings.h"

/* The value becomes part of a list of options. */
static int conf_set(char **field, char *words[], struct error *err)
{
	if (*field)
		return error_set(err, -EINVAL, "'%s' is there twice", words[0]);
	if (strchr(words[1], ','))
		return error_set(err, -EINVAL, "'%s' has a comma", words[1]);
	*field = strdup(words[1]);
	return *field ? 0 : error_no_memory(err);
}

static int conf_set_file(char **field, char *words[], struct error *err)
{
	if (*words[1] != '/')
		return error_set(err, -EINVAL, "'%s' is not an absolute path", words[1]);
	return conf_set(field, words, err);
}

static int conf_take(void *argument, char *words[], size_t count, struct error *err)
{
	struct conf *conf = argument;

	if (count == 2 && !strcmp(words[0], "trust"))
		return conf_set_file(&conf->trust, words, err);
	if (count == 2 && !strcmp(words[0], "revoked"))
		return conf_set_file(&conf->revoked, words, err);
	if (count == 2 && !strcmp(words[0], "direct_group"))
		return conf_set(&conf->direct_group, words, err);
	if (count != 2 || strcmp(words[0], "paths") != 0 || strcmp(words[1], "inline") != 0)
		return error_set(err, -EINVAL, "'%s': expected 'paths inline', 'trust FILE', 'revoked FILE' or "
				 "'direct_group GROUP'; data sets stand in '" NAMED_FILE "'", words[0]);
	conf->inline_paths = true;
	return 0;
}

int conf_read(const char *path, struct conf *ret, struct error *err)
{
	auto_conf struct conf conf = { 0 };
	struct error why = { 0 };
	int r = settings_read(path, conf_take, &conf, &why);

	if (r < 0 && r != -ENOENT)
		return error_pass(err, r, &why);
	if (conf.revoked && !conf.trust)
		return error_set(err, -EINVAL, "'%s': 'revoked' needs 'trust', which says who may sign", path);
	*ret = conf;
	conf = (struct conf){ 0 };
	return 0;
}

void conf_free(struct conf *conf)
{
	free(conf->trust);
	free(conf->revoked);
	free(conf->direct_group);
	*conf = (struct conf){ 0 };
}
