/* SPDX-License-Identifier: MIT */
/* Parses names of volumes. Opens nothing. */
#include "assembly/naming.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text/parse.h"
#include "datasetfs/format.h"
#include "device/locate.h"
#include "io/site.h"

#define NAMING_UUID      "uuid:"
#define NAMING_SUBSYSTEM "nvme://"

static bool naming_is_file(const char *volume)
{
	return access(volume, F_OK) == 0;
}

/* Returns the length of the first name in a list. The name of a subsystem, in nvme://NQN/NSID, may have a comma. */
static size_t naming_length(const char *names)
{
	const char *comma = names + strcspn(names, ",");

	while (*comma && !strncmp(names, NAMING_SUBSYSTEM, strlen(NAMING_SUBSYSTEM)) && comma[1] != '/' &&
	       !locate_is_identity(comma + 1))
		comma += 1 + strcspn(comma + 1, ",");
	return (size_t)(comma - names);
}

static bool naming_is_list(const char *volume)
{
	return volume[naming_length(volume)] && !naming_is_file(volume);
}

bool naming_is_uuid(const char *volume)
{
	return !strncmp(volume, NAMING_UUID, strlen(NAMING_UUID)) && !naming_is_list(volume) &&
	       !naming_is_file(volume);
}

bool naming_is_one(const char *volume)
{
	return !naming_is_uuid(volume) && !naming_is_list(volume);
}

int naming_uuid(const char *volume, uint8_t ret[16], struct error *err)
{
	return parse_uuid(volume + strlen(NAMING_UUID), ret, err);
}

void naming_free(char **names, uint32_t count)
{
	for (uint32_t i = 0; names && i < count; i++)
		free(names[i]);
	free(names);
}

static int naming_check(char **names, uint32_t count, const char *volume, struct error *err)
{
	for (uint32_t i = 0; i < count; i++)
		if (!*names[i])
			return error_set(err, -EINVAL, "'%s': a name in the list is empty", volume);
	return 0;
}

static uint32_t naming_count(const char *volume)
{
	uint32_t count = 1;

	for (; volume[naming_length(volume)]; volume += naming_length(volume) + 1)
		count++;
	return count;
}

int naming_split(const char *volume, char ***ret, uint32_t *ret_count, struct error *err)
{
	uint32_t count = naming_is_list(volume) ? naming_count(volume) : 1;
	const char *at = volume;
	char **names = NULL;
	int r = 0;

	if (count > DSFS_MEMBER_MAX + 1)
		return error_set(err, -E2BIG, "%" PRIu32 " members, expected %u at most", count, DSFS_MEMBER_MAX + 1);
	names = calloc(count, sizeof(*names));
	for (uint32_t i = 0; names && r == 0 && i < count; i++) {
		names[i] = count > 1 ? strndup(at, naming_length(at)) : strdup(at);
		r = names[i] ? 0 : -ENOMEM;
		at += naming_length(at) + 1;
	}
	if (!names || r < 0) {
		naming_free(names, count);
		return error_no_memory(err);
	}
	r = naming_check(names, count, volume, err);
	if (r < 0) {
		naming_free(names, count);
		return r;
	}
	*ret = names;
	*ret_count = count;
	return 0;
}

static int naming_absolute_one(const char *name, char **ret, struct error *err)
{
	int r;

	*ret = name[0] == '/' || locate_is_identity(name) ? strdup(name) : realpath(name, NULL);
	if (*ret)
		return 0;
	r = site_refuse(name, errno, err);
	return error_wrap(err, r, "'%s'", name);
}

static int naming_join(char **names, uint32_t count, char **ret, struct error *err)
{
	char *joined = NULL, *longer;

	for (uint32_t i = 0; i < count; i++) {
		if (asprintf(&longer, "%s%s%s", joined ? joined : "", joined ? "," : "", names[i]) < 0)
			longer = NULL;
		free(joined);
		joined = longer;
		if (!joined)
			return error_no_memory(err);
	}
	*ret = joined;
	return 0;
}

int naming_absolute(const char *volume, char **ret, struct error *err)
{
	char **names, *absolute;
	uint32_t count;
	int r;

	if (naming_is_uuid(volume)) {
		*ret = strdup(volume);
		return *ret ? 0 : error_no_memory(err);
	}
	r = naming_split(volume, &names, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++) {
		r = naming_absolute_one(names[i], &absolute, err);
		if (r == 0) {
			free(names[i]);
			names[i] = absolute;
		}
	}
	if (r == 0)
		r = naming_join(names, count, ret, err);
	naming_free(names, count);
	return r;
}

static bool naming_is_there(const char *name)
{
	auto_free char *path = NULL;

	return (name[0] == '/' || locate_is_identity(name)) && locate_path(name, &path, NULL) == 0 &&
	       access(path, F_OK) == 0;
}

bool naming_is_reachable(const char *volume)
{
	char **names;
	uint32_t count;
	bool is_there = true;
	uint8_t uuid[16];

	if (naming_is_uuid(volume))
		return naming_uuid(volume, uuid, NULL) == 0;
	if (naming_split(volume, &names, &count, NULL) < 0)
		return false;
	for (uint32_t i = 0; i < count; i++)
		is_there = is_there && naming_is_there(names[i]);
	naming_free(names, count);
	return is_there;
}
