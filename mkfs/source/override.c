/* SPDX-License-Identifier: MIT */
/* Looks up the names of owners on this machine, and replaces owners and modes. */
#include "source/override.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text/parse.h"

/* Parses the number of a user or group that has no name here. */
static int override_parse(const char *kind, const char *text, uint32_t *ret, struct error *err)
{
	uint64_t number;

	if (parse_u64(text, 0, UINT32_MAX - 1, &number, NULL) < 0)
		return error_set(err, -EINVAL, "there is no %s '%s' on this machine: give its number", kind, text);
	*ret = (uint32_t)number;
	return 0;
}

int override_set_owner(struct override *override, const char *text, struct error *err)
{
	const struct passwd *user = getpwnam(text);

	override->has_owner = true;
	if (!user)
		return override_parse("user", text, &override->owner, err);
	override->owner = user->pw_uid;
	return 0;
}

int override_set_group(struct override *override, const char *text, struct error *err)
{
	const struct group *group = getgrnam(text);

	override->has_group = true;
	if (!group)
		return override_parse("group", text, &override->group, err);
	override->group = group->gr_gid;
	return 0;
}

void override_close(struct override *override)
{
	free(override->modes.list);
	*override = (struct override){ 0 };
}

void override_apply(const struct override *override, struct attributes *attributes)
{
	if (override->has_owner)
		attributes->uid = override->owner;
	if (override->has_group)
		attributes->gid = override->group;
	if (!S_ISLNK(attributes->mode))
		attributes->mode = mode_apply(&override->modes, attributes->mode);
}
