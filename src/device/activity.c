/* SPDX-License-Identifier: MIT */
/* Reads the attribute stat of block devices in sysfs: Documentation/block/stat.rst. */
#include "device/activity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

bool activity_read(struct activity *activity)
{
	char folder[sizeof(SYSFS_BLOCKS) + SYSFS_NAME_SIZE], text[256];
	uint64_t sectors;
	int64_t disk;

	snprintf(folder, sizeof(folder), SYSFS_BLOCKS "%s", activity->name);
	if (!sysfs_text(folder, "stat", text, sizeof(text)) ||
	    sscanf(text, "%" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %*u %*u %*u %*u %" SCNu64, &activity->reads, &sectors,
		   &activity->waited, &activity->in_flight) != 4)
		return false;
	activity->bytes = sectors * SYSFS_SECTOR;
	activity->disk = sysfs_number(folder, "diskseq", &disk) ? (uint64_t)disk : 0;
	return true;
}

char *activity_add(char *list, const struct activity *activity)
{
	char *longer;

	if (asprintf(&longer, "%s%s%s:%" PRIu64 ":%" PRIu64 ":%" PRIu64 ":%" PRIu64, list ? list : "",
		     list ? "," : "", activity->name, activity->reads, activity->bytes, activity->waited,
		     activity->disk) < 0)
		longer = NULL;
	free(list);
	return longer;
}

static uint64_t activity_grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

/* Reads one device of a list; false: it is gone, or this is none. */
static bool activity_one(const char *word, struct activity *ret)
{
	struct activity before = { .name = "" };

	if (sscanf(word, "%63[^:]:%" SCNu64 ":%" SCNu64 ":%" SCNu64 ":%" SCNu64, before.name, &before.reads,
		   &before.bytes, &before.waited, &before.disk) < 4)
		return false;
	*ret = before;
	if (!activity_read(ret) || (before.disk && ret->disk != before.disk))
		return false;
	ret->reads = activity_grown(ret->reads, before.reads);
	ret->bytes = activity_grown(ret->bytes, before.bytes);
	ret->waited = activity_grown(ret->waited, before.waited);
	return true;
}

int activity_since(const char *list, struct activity **ret, unsigned *ret_gone, struct error *err)
{
	auto_free char *copy = strdup(list);
	auto_free struct activity *found = NULL;
	struct activity one;
	unsigned gone = 0;
	size_t count = 0;
	char *rest = copy;
	int r = copy ? 0 : error_no_memory(err);

	while (r == 0 && rest) {
		if (!activity_one(strsep(&rest, ","), &one)) {
			gone++;
			continue;
		}
		r = grow_one(found, count, err);
		if (r == 0)
			found[count++] = one;
	}
	if (r < 0)
		return r;
	*ret = take_ptr(&found);
	*ret_gone = gone;
	return (int)count;
}
