/* SPDX-License-Identifier: MIT */
/* Finds the files of lost chunks by looking at every chunk of every file. */
#include "scrub/files.h"

#include <stdbool.h>
#include <stdlib.h>

#include "image/catalogue/index_load.h"
#include "image/chunk_walk.h"
#include "image/names/names.h"

#define FILES_PATH_SIZE 8192

struct files {
	struct findings *findings;
	const struct version *version;
	struct index *index;
};

static int files_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool files_is_lost(const struct files *files, uint64_t address)
{
	return bsearch(&address, files->findings->lost, files->findings->lost_count, sizeof(*files->findings->lost),
		       files_compare);
}

static int files_walk(const struct files *files, struct error *err)
{
	struct chunk_walk walk = { .index = files->index };
	char path[FILES_PATH_SIZE];
	int r;

	while ((r = chunk_walk_next(&walk, err)) > 0) {
		if (walk.damage.code || !files_is_lost(files, walk.chunk.address))
			continue;
		inode_path(files->index, walk.inode.ordinal, path, sizeof(path));
		findings_file(files->findings, path + (path[0] == '/'), files->version->label, walk.position,
			      walk.chunk.address);
	}
	return r;
}

/* Looks through the files of a version. One whose index is lost was reported already. */
static int files_version(struct files *files, struct source *source, const struct members *members, struct error *err)
{
	int r;

	if (index_load(backing_of(source, members), files->version, &files->index, NULL) < 0)
		return 0;
	r = files_walk(files, err);
	index_close(files->index);
	return r;
}

int files_find(struct source *source, const struct catalogue *catalogue, struct findings *findings, struct error *err)
{
	int r = 0;

	if (!findings->lost_count)
		return 0;
	qsort(findings->lost, findings->lost_count, sizeof(*findings->lost), files_compare);
	for (uint32_t i = 0; r == 0 && i < catalogue->version_count; i++) {
		struct files files = { .findings = findings, .version = &catalogue->versions[i] };

		r = files_version(&files, source, &catalogue->members, err);
	}
	return r;
}
