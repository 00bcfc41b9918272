/* SPDX-License-Identifier: MIT */
/* Goes through /proc, and through the table of mounts. A process that may not be looked at is left out. */
#include "attach/census.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/mountinfo.h"

struct census_making {
	struct census census;
	size_t room;
};

static int census_add(struct census_making *making, uint64_t namespace, pid_t process, struct error *err)
{
	int r = grow(making->census.items, making->room, making->census.count + 1, err);

	if (r == 0)
		making->census.items[making->census.count++] = (struct census_entry){ namespace, process };
	return r;
}

static int census_see_mounted(void *argument, const struct mountinfo *info, struct error *err)
{
	uint64_t namespace;

	if (strcmp(info->type, "nsfs") != 0 || sscanf(info->root, "mnt:[%" SCNu64 "]", &namespace) != 1)
		return 0;
	return census_add(argument, namespace, 1, err);
}

static int census_see_processes(struct census_making *making, struct error *err)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	char path[NAME_MAX + sizeof("/ns/mnt")];
	struct stat st;
	int r = 0;

	if (!processes)
		return error_errno(err, "cannot list '/proc'");
	while (r == 0 && (entry = readdir(processes))) {
		snprintf(path, sizeof(path), "%s/ns/mnt", entry->d_name);
		if (*path >= '1' && *path <= '9' && fstatat(dirfd(processes), path, &st, 0) == 0)
			r = census_add(making, st.st_ino, (pid_t)strtol(path, NULL, 10), err);
	}
	closedir(processes);
	return r;
}

static int census_compare(const void *a, const void *b)
{
	const struct census_entry *one = a, *other = b;

	return (one->namespace > other->namespace) - (one->namespace < other->namespace);
}

static void census_sort(struct census *census)
{
	size_t kept = 0;

	if (census->count)
		qsort(census->items, census->count, sizeof(*census->items), census_compare);
	for (size_t i = 0; i < census->count; i++)
		if (!kept || census->items[kept - 1].namespace != census->items[i].namespace)
			census->items[kept++] = census->items[i];
	census->count = kept;
}

int census_take(struct census *ret, struct error *err)
{
	struct census_making making = { 0 };
	int r = mountinfo_each(census_see_mounted, &making, err);

	if (r == 0)
		r = census_see_processes(&making, err);
	if (r < 0) {
		census_free(&making.census);
		return r;
	}
	census_sort(&making.census);
	*ret = making.census;
	return 0;
}

pid_t census_process(const struct census *census, uint64_t namespace)
{
	const struct census_entry wanted = { .namespace = namespace }, *found = NULL;

	if (census->count)
		found = bsearch(&wanted, census->items, census->count, sizeof(wanted), census_compare);
	return found ? found->process : 0;
}

void census_free(struct census *census)
{
	free(census->items);
	*census = (struct census){ 0 };
}
