/* SPDX-License-Identifier: MIT */
/* Finds the files of lost chunks by looking at every chunk of every file. */
#include "scrub/files.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/program/interrupt.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/names/names.h"

#define FILES_PATH_SIZE 8192

struct files {
	struct findings *findings;
	const struct version *version;
	struct index *index;
	struct names_reader *reader;
};

static int files_compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void files_look(struct files *files, const struct inode *inode)
{
	uint64_t count = inode_chunk_count(files->index, inode), run = 1;
	struct findings *findings = files->findings;
	char path[FILES_PATH_SIZE];
	struct chunk chunk;

	for (uint64_t i = 0; i < count; i += run) {
		if (chunk_get_run(files->index, inode, i, &chunk, &run, NULL) < 0) {
			run = 1;
			continue;
		}
		if (!bsearch(&chunk.address, findings->lost, findings->lost_count, sizeof(*findings->lost),
			     files_compare))
			continue;
		inode_path(files->index, files->reader, inode->ordinal, path, sizeof(path));
		findings_file(findings, path + (path[0] == '/'), files->version->label, i, chunk.address);
	}
}

static int files_walk(struct files *files, struct error *err)
{
	struct inode inode;
	int r = 0;

	for (uint64_t ordinal = INODE_ROOT; r == 0 && ordinal <= files->index->shape.inode_count; ordinal++) {
		r = interrupt_check(err);
		if (r == 0)
			r = inode_get(files->index, ordinal, &inode, err);
		if (r == 0 && S_ISREG(inode.mode))
			files_look(files, &inode);
	}
	return r;
}

/* Looks through the files of a version. One whose index is lost was reported already. */
static int files_version(struct files *files, struct source *source, const struct members *members, struct error *err)
{
	int r;

	if (index_load(backing_of(source, members), files->version, &files->index, NULL) < 0)
		return 0;
	r = names_reader_open(files->index->names, &files->reader, err);
	if (r == 0)
		r = files_walk(files, err);
	names_reader_close(files->reader);
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
