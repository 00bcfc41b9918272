/* SPDX-License-Identifier: MIT */
/* Asks /proc/filesystems, which containers have, too. */
#include "base/program/selinux.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

const char *const selinux_names[SELINUX_OPTIONS] = { "context", "fscontext", "defcontext", "rootcontext" };

int selinux_check(const char *value, struct error *err)
{
	return strchr(value, '"') ? error_set(err, -EINVAL, "'%s' has a quotation mark in it", value) : 0;
}

static bool selinux_is_there(void)
{
	auto_fclose FILE *file = fopen("/proc/filesystems", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (strstr(line, "\tselinuxfs\n"))
			return true;
	return false;
}

bool selinux_has_any(const struct selinux *selinux)
{
	for (unsigned i = 0; i < SELINUX_OPTIONS; i++)
		if (selinux->values[i])
			return true;
	return false;
}

bool selinux_drop(struct selinux *selinux)
{
	if (!selinux_has_any(selinux) || selinux_is_there())
		return false;
	*selinux = (struct selinux){ 0 };
	return true;
}
