/* SPDX-License-Identifier: MIT */
/* Takes the arguments one by one; each has a name and a value. */
#include "slurm/site.h"

#include <errno.h>
#include <string.h>

#include "base/text/parse.h"

static const char *site_value(const char *argument, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(argument, name, length) ? argument + length : NULL;
}

static int site_set_path(const char **field, const char *value, struct error *err)
{
	if (*value != '/')
		return error_set(err, -EINVAL, "'%s' is not an absolute path", value);
	*field = value;
	return 0;
}

int site_say(struct site *site, const char *argument, struct error *err)
{
	const char *value;
	uint64_t seconds;
	int r;

	if ((value = site_value(argument, "folder=")))
		return site_set_path(&site->folder, value, err);
	if ((value = site_value(argument, "places=")))
		return site_set_path(&site->places, value, err);
	if ((value = site_value(argument, "control=")))
		return site_set_path(&site->control, value, err);
	value = site_value(argument, "timeout=");
	if (!value)
		return error_set(err, -EINVAL, "'%s': expected folder=, places=, control= or timeout=", argument);
	r = parse_u64(value, 1, 86400, &seconds, err);
	if (r == 0)
		site->timeout = (unsigned)seconds;
	return r;
}
