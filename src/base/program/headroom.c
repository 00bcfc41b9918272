/* SPDX-License-Identifier: MIT */
/* Reads /proc/meminfo (proc(5)) and the memory controllers of both kinds of control groups (cgroups(7)). */
#include "base/program/headroom.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/format.h"

#define HEADROOM_MARGIN (UINT64_C(16) << 20) /* bytes for all other memory that the daemon needs meanwhile */

struct headroom_need {
	uint64_t bytes;
	unsigned spare; /* see headroom_check() */
	uint64_t *least; /* receives the least memory left anywhere, instead of a check; NULL: check */
};

/* A kind of control group hierarchy and its files. */
struct headroom_kind {
	const char *root, *limit, *usage;
	/* Keys in memory.stat of memory that can be reclaimed. Pages of the mount that were read twice are active. */
	const char *caches[2];
};

static const struct headroom_kind headroom_kinds[] = {
	{ "/sys/fs/cgroup", "memory.max", "memory.current", { "inactive_file", "active_file" } },
	{ "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  { "total_inactive_file", "total_active_file" } },
};

/* Reads the number behind a word of the file; word NULL: the first number. False: there is none, as for "max". */
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

/* Checks one place that limits memory. all: bytes of memory there, left: bytes not in use. */
static int headroom_compare(const struct headroom_need *need, uint64_t all, uint64_t left, const char *where,
			    const char *advice, struct error *err)
{
	char wanted[SIZE_TEXT_SIZE], kept[SIZE_TEXT_SIZE], found[SIZE_TEXT_SIZE];
	uint64_t keep = need->spare ? all / need->spare : 0;

	if (need->least) {
		*need->least = left < *need->least ? left : *need->least;
		return 0;
	}
	if (keep < HEADROOM_MARGIN)
		keep = HEADROOM_MARGIN;
	if (left >= keep && left - keep >= need->bytes)
		return 0;
	return error_set(err, -ENOMEM,
			 "not enough memory for its index: needs %s, %s must stay free, %s is available in %s: %s",
			 format_size(need->bytes, wanted), format_size(keep, kept), format_size(left, found), where,
			 advice);
}

/* Checks one control group; path is its folder. A group without a limit passes. */
static int headroom_group(const struct headroom_kind *kind, const char *path, const struct headroom_need *need,
			  struct error *err)
{
	uint64_t limit, usage, cache;
	char file[1024];

	snprintf(file, sizeof(file), "%s/%s", path, kind->limit);
	if (!headroom_number(file, NULL, &limit))
		return 0;
	snprintf(file, sizeof(file), "%s/%s", path, kind->usage);
	if (!headroom_number(file, NULL, &usage))
		return 0;
	snprintf(file, sizeof(file), "%s/memory.stat", path);
	for (unsigned i = 0; i < 2; i++)
		if (headroom_number(file, kind->caches[i], &cache))
			usage -= cache < usage ? cache : usage;
	return headroom_compare(need, limit, limit > usage ? limit - usage : 0, "the control group",
				"raise its limit", err);
}

/* Checks a control group and all its ancestors, as each may have a limit. */
static int headroom_groups(const struct headroom_kind *kind, const char *group, const struct headroom_need *need,
			   struct error *err)
{
	char path[768];
	size_t root = strlen(kind->root);
	int r = 0;

	snprintf(path, sizeof(path), "%s%s", kind->root, strcmp(group, "/") ? group : "");
	for (;;) {
		r = headroom_group(kind, path, need, err);
		if (r < 0 || strlen(path) <= root)
			return r;
		*strrchr(path, '/') = 0;
	}
}

/* Checks the group in a line of /proc/self/cgroup: "NUMBER:CONTROLLERS:/GROUP". */
static int headroom_line(char *line, const struct headroom_need *need, struct error *err)
{
	char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!group)
		return 0;
	line[strcspn(line, "\n")] = 0;
	*group++ = 0;
	controllers++;
	if (!*controllers)
		return headroom_groups(&headroom_kinds[0], group, need, err);
	if (!strcmp(controllers, "memory"))
		return headroom_groups(&headroom_kinds[1], group, need, err);
	return 0;
}

static int headroom_machine(const struct headroom_need *need, struct error *err)
{
	uint64_t all, left; /* KiB */

	if (!headroom_number("/proc/meminfo", "MemTotal", &all) ||
	    !headroom_number("/proc/meminfo", "MemAvailable", &left))
		return 0;
	return headroom_compare(need, all * 1024, left * 1024, "the machine",
				"end other programs, or take a machine with more memory", err);
}

static int headroom_look(const struct headroom_need *need, struct error *err)
{
	auto_free char *line = NULL;
	size_t size = 0;
	FILE *file;
	int r = headroom_machine(need, err);

	file = r == 0 ? fopen("/proc/self/cgroup", "re") : NULL;
	if (!file)
		return r;
	while (r == 0 && getline(&line, &size, file) >= 0)
		r = headroom_line(line, need, err);
	fclose(file);
	return r;
}

int headroom_check(uint64_t bytes, unsigned spare, struct error *err)
{
	const struct headroom_need need = { .bytes = bytes, .spare = spare };

	return headroom_look(&need, err);
}

uint64_t headroom_left(void)
{
	uint64_t least = UINT64_MAX;
	const struct headroom_need need = { .least = &least };

	if (headroom_look(&need, NULL) < 0 || least < HEADROOM_MARGIN)
		return 0;
	return least - HEADROOM_MARGIN;
}
