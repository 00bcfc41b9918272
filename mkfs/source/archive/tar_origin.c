/* SPDX-License-Identifier: MIT */
/* Compares the archives of two entries. Equal names in several archives are mostly shards whose samples are counted
 * from 0 in each: the last one must not silently win. */
#include "source/archive/tar_origin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "source/archive/tar_name.h"

static int tar_origin_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sets the error for a folder that two archives would become. */
static int tar_origin_ambiguous(const struct tar_origin *origin, const char *folder, struct error *err)
{
	const char *two[2] = { "", "" };

	for (unsigned i = 0, n = 0; i < origin->setup.count && n < 2; i++)
		if (!strcmp(origin->folders[i], folder))
			two[n++] = origin->setup.names[i];
	return error_set(err, -EEXIST, "option '--into-folders': '%s' and '%s' would both become the folder '%s'",
			 two[0], two[1], folder);
}

static int tar_origin_check_folders(const struct tar_origin *origin, struct error *err)
{
	char **sorted = calloc(origin->setup.count, sizeof(*sorted));
	int r = sorted ? 0 : error_no_memory(err);

	if (r < 0)
		return r;
	memcpy(sorted, origin->folders, origin->setup.count * sizeof(*sorted));
	qsort(sorted, origin->setup.count, sizeof(*sorted), tar_origin_compare);
	for (unsigned i = 1; r == 0 && i < origin->setup.count; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			r = tar_origin_ambiguous(origin, sorted[i], err);
	free(sorted);
	return r;
}

static int tar_origin_name_folders(struct tar_origin *origin, struct error *err)
{
	origin->folders = calloc(origin->setup.count, sizeof(*origin->folders));
	for (unsigned i = 0; origin->folders && i < origin->setup.count; i++) {
		const char *path = origin->setup.names[i], *name;
		size_t length;

		name = tar_name_folder(path, &length);
		if (!length || !strcmp(path, "-"))
			return error_set(err, -EINVAL, "option '--into-folders': '%s' has no name for a folder", path);
		origin->folders[i] = strndup(name, length);
		if (!origin->folders[i])
			return error_no_memory(err);
	}
	return origin->folders ? tar_origin_check_folders(origin, err) : error_no_memory(err);
}

int tar_origin_open(struct tar_origin *origin, const struct tar_origin_setup *setup, struct error *err)
{
	*origin = (struct tar_origin){ .setup = *setup };
	return setup->into_folders ? tar_origin_name_folders(origin, err) : 0;
}

void tar_origin_close(struct tar_origin *origin)
{
	for (unsigned i = 0; origin->folders && i < origin->setup.count; i++)
		free(origin->folders[i]);
	free(origin->folders);
	free(origin->sources);
	*origin = (struct tar_origin){ 0 };
}

int tar_origin_enter(struct tar_origin *origin, uint32_t archive, uint32_t source, struct error *err)
{
	int r;

	if (archive < origin->used && origin->sources[archive] == source)
		return 0;
	if (archive != origin->used || source >= origin->setup.count)
		return error_set(err, -EPROTO, "the process that decodes the archive sent an impossible archive");
	r = grow(origin->sources, origin->room, origin->used + 1, err);
	if (r == 0)
		origin->sources[origin->used++] = source;
	return r;
}

const char *tar_origin_folder(const struct tar_origin *origin, uint32_t archive)
{
	return origin->folders ? origin->folders[origin->sources[archive]] : "";
}

static int tar_origin_refuse(const struct tar_origin *origin, const char *path, const char *former, const char *later,
			     struct error *err)
{
	const char *last = "use --on-duplicate last to pack the last one";

	if (former == later)
		return error_set(err, -EEXIST, "'%.120s' is in '%.100s' more than once: %s", path, former, last);
	if (origin->folders)
		return error_set(err, -EEXIST, "'%.120s' is in '%.100s' and '%.100s': %s", path, former, later, last);
	return error_set(err, -EEXIST, "'%.120s' is in '%.100s' and '%.100s': use --into-folders to pack each "
			 "archive into a folder of its own, or --on-duplicate last to pack the last one", path,
			 former, later);
}

int tar_origin_replace(struct tar_origin *origin, const char *path, uint32_t former, uint32_t later, struct error *err)
{
	const char *from = origin->setup.names[origin->sources[former]];
	const char *to = origin->setup.names[origin->sources[later]];
	enum tar_duplicates duplicates = origin->setup.duplicates;

	if (duplicates == TAR_DUPLICATES_ERROR || (duplicates == TAR_DUPLICATES_AUTO && former != later))
		return tar_origin_refuse(origin, path, from, to, err);
	if (!origin->replaced.count++) {
		snprintf(origin->replaced.path, sizeof(origin->replaced.path), "%s", path);
		origin->replaced.former = from;
		origin->replaced.later = to;
	}
	return 0;
}
