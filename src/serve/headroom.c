/* SPDX-License-Identifier: MIT */
/* /proc/meminfo (proc(5)) and the memory controllers of both kinds of control groups (cgroups(7)). */
#include "serve/headroom.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define HEADROOM_MARGIN (UINT64_C(16) << 20) /* for everything else that the daemon does meanwhile */

/* One kind of hierarchy and its files. */
struct headroom_kind {
	const char *root, *limit, *usage;
	const char *cache; /* in memory.stat: what goes away under pressure */
};

static const struct headroom_kind headroom_kinds[] = {
	{ "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file" },
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "total_inactive_file" },
};

/* The number behind a word, or the first in the file when word is NULL. False when there is none ("max"). */
static bool headroom_number(const char *path, const char *word, uint64_t *ret)
{
	size_t length = word ? strlen(word) : 0;
	char line[256];
	bool found = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		if (!length || (!strncmp(line, word, length) && (line[length] == ' ' || line[length] == ':')))
			found = sscanf(line + length + (length && line[length] == ':'), " %" SCNu64, ret) == 1;
	fclose(file);
	return found;
}

static int headroom_refuse(uint64_t bytes, uint64_t left, const char *where, struct error *err)
{
	char need[SIZE_TEXT_SIZE], have[SIZE_TEXT_SIZE];

	return error_set(err, -ENOMEM, "not enough memory for its index: %s needed, %s left in %s",
			 format_size(bytes, need), format_size(left, have), where);
}

/* One group of the hierarchy; path is the group's folder. */
static int headroom_group(const struct headroom_kind *kind, const char *path, uint64_t bytes, struct error *err)
{
	uint64_t limit, usage, cache = 0;
	char file[1024];

	snprintf(file, sizeof(file), "%s/%s", path, kind->limit);
	if (!headroom_number(file, NULL, &limit))
		return 0;
	snprintf(file, sizeof(file), "%s/%s", path, kind->usage);
	if (!headroom_number(file, NULL, &usage))
		return 0;
	snprintf(file, sizeof(file), "%s/memory.stat", path);
	(void)headroom_number(file, kind->cache, &cache);
	usage -= cache < usage ? cache : usage;
	if (limit >= usage && limit - usage >= bytes)
		return 0;
	return headroom_refuse(bytes, limit > usage ? limit - usage : 0, "the control group", err);
}

/* The group and those above it: each may have a limit. */
static int headroom_groups(const struct headroom_kind *kind, const char *group, uint64_t bytes, struct error *err)
{
	char path[768];
	size_t root = strlen(kind->root);
	int r = 0;

	snprintf(path, sizeof(path), "%s%s", kind->root, strcmp(group, "/") ? group : "");
	for (;;) {
		r = headroom_group(kind, path, bytes, err);
		if (r < 0 || strlen(path) <= root)
			return r;
		*strrchr(path, '/') = 0;
	}
}

/* A line of /proc/self/cgroup: "NUMBER:CONTROLLERS:/GROUP". */
static int headroom_line(char *line, uint64_t bytes, struct error *err)
{
	char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return 0;
	line[strcspn(line, "\n")] = 0;
	*group++ = 0;
	controllers++;
	if (!*controllers)
		return headroom_groups(&headroom_kinds[0], group, bytes, err);
	if (!strcmp(controllers, "memory"))
		return headroom_groups(&headroom_kinds[1], group, bytes, err);
	return 0;
}

int headroom_check(uint64_t bytes, struct error *err)
{
	auto_free char *line = NULL;
	uint64_t available;
	size_t size = 0;
	FILE *file;
	int r = 0;

	bytes += HEADROOM_MARGIN;
	if (headroom_number("/proc/meminfo", "MemAvailable", &available) && available < bytes / 1024)
		return headroom_refuse(bytes, available * 1024, "the machine", err);
	file = fopen("/proc/self/cgroup", "re");
	if (!file)
		return 0;
	while (r == 0 && getline(&line, &size, file) >= 0)
		r = headroom_line(line, bytes, err);
	fclose(file);
	return r;
}
