/* SPDX-License-Identifier: MIT */
/* Opens and closes versions. */
#include "serve/version/generation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "image/catalogue/index_load.h"
#include "image/names/names.h"

static void generation_free(struct generation *generation)
{
	for (unsigned i = 0; i < generation->reader_count; i++)
		names_reader_close(generation->readers[i]);
	free(generation->readers);
	block_sums_close(generation->block_sums);
	version_free(&generation->version);
	index_close(generation->index);
	free(generation);
}

static int generation_open_readers(struct generation *generation, unsigned readers, struct error *err)
{
	int r;

	generation->readers = calloc(readers, sizeof(*generation->readers));
	if (!generation->readers)
		return error_no_memory(err);
	for (; generation->reader_count < readers; generation->reader_count++) {
		r = names_reader_open(generation->index->names, &generation->readers[generation->reader_count], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Block checksums only save bytes, as chunks have checksums of their own, so the version is served without them if they
 * are damaged. */
static int generation_open_block_sums(struct generation *generation, struct source *source, struct error *err)
{
	struct error why = { 0 };
	int r = block_sums_load(backing_of(source, &generation->index->members), &generation->version,
				&generation->block_sums, &why);

	if (r == -ENOMEM)
		return error_pass(err, r, &why);
	if (r < 0)
		log_warn("version '%s' is served without its block checksums, parts of large files are read in whole "
			 "chunks: %s", generation->version.label, why.reason);
	return 0;
}

int generation_open(struct source *source, const struct version *version, const struct members *members,
		    unsigned readers, struct generation **ret, struct error *err)
{
	static _Atomic uint64_t opened;
	struct generation *generation;
	int r;

	if (version->sequence > NODE_SEQUENCE_MAX)
		return error_set(err, -EOPNOTSUPP, "version '%s' has sequence %llu, expected at most %llu",
				 version->label, (unsigned long long)version->sequence,
				 (unsigned long long)NODE_SEQUENCE_MAX);
	generation = calloc(1, sizeof(*generation));
	if (!generation)
		return error_no_memory(err);
	generation->version = *version;
	version_disown_lists(&generation->version); /* two are copied below: clients get one, users see the other */
	generation->sequence = version->sequence;
	generation->key = atomic_fetch_add(&opened, 1) + 1;
	atomic_init(&generation->uses, 1);
	r = extent_list_copy(&version->block_sums.extents, &generation->version.block_sums.extents, err);
	if (r == 0)
		r = extent_list_copy(&version->segments, &generation->version.segments, err);
	if (r == 0)
		r = index_load(backing_of(source, members), version, &generation->index, err);
	if (r == 0)
		r = generation_open_block_sums(generation, source, err);
	if (r == 0)
		r = generation_open_readers(generation, readers, err);
	if (r < 0) {
		generation_free(generation);
		return r;
	}
	*ret = generation;
	return 0;
}

void generation_put(struct generation *generation)
{
	if (generation && atomic_fetch_sub_explicit(&generation->uses, 1, memory_order_acq_rel) == 1)
		generation_free(generation);
}
