/* SPDX-License-Identifier: MIT */
/* Takes its one line: 'paths inline'. */
#include "csi/conf.h"

#include <errno.h>
#include <string.h>

#include "attach/named.h"
#include "base/text/settings.h"

static int conf_take(void *argument, char *words[], size_t count, struct error *err)
{
	struct conf *conf = argument;

	if (count != 2 || strcmp(words[0], "paths") != 0 || strcmp(words[1], "inline") != 0)
		return error_set(err, -EINVAL, "'%s': expected 'paths inline'; data sets stand in '" NAMED_FILE "'",
				 words[0]);
	conf->inline_paths = true;
	return 0;
}

int conf_read(const char *path, struct conf *ret, struct error *err)
{
	struct conf conf = { 0 };
	struct error why = { 0 };
	int r = settings_read(path, conf_take, &conf, &why);

	if (r < 0 && r != -ENOENT)
		return error_pass(err, r, &why);
	*ret = conf;
	return 0;
}
