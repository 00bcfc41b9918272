/* SPDX-License-Identifier: MIT */
/* Opens and closes versions. */
#include "serve/version/generation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "image/catalogue/index_load.h"
#include "opened/version_record.h"

static _Atomic uint64_t generation_opened; /* the greatest key that a version has */

static void generation_free(struct generation *generation)
{
	block_sums_close(generation->block_sums);
	version_free(&generation->version);
	index_close(generation->index);
	close_fd(&generation->record);
	free(generation);
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

static int generation_check_sequence(const struct version *version, struct error *err)
{
	if (version->sequence <= NODE_SEQUENCE_MAX)
		return 0;
	return error_set(err, -EOPNOTSUPP, "version '%s' has sequence %llu, expected at most %llu", version->label,
			 (unsigned long long)version->sequence, (unsigned long long)NODE_SEQUENCE_MAX);
}

int generation_open(struct source *source, const struct version *version, struct index *index,
		    struct block_sums *block_sums, struct generation **ret, struct error *err)
{
	struct generation *generation;
	int r = generation_check_sequence(version, err);

	if (r < 0)
		return r;
	generation = calloc(1, sizeof(*generation));
	if (!generation)
		return error_no_memory(err);
	generation->version = *version;
	generation->index = index;
	generation->block_sums = block_sums;
	generation->record = -1;
	generation->sequence = version->sequence;
	generation->key = atomic_fetch_add(&generation_opened, 1) + 1;
	atomic_init(&generation->uses, 1);
	r = version_copy_lists(version, &generation->version, err);
	if (r == 0 && !block_sums)
		r = generation_open_block_sums(generation, source, err);
	if (r < 0) {
		generation->index = NULL; /* both stay the caller's */
		if (block_sums)
			generation->block_sums = NULL;
		generation_free(generation);
		return r;
	}
	*ret = generation;
	return 0;
}

/* ---- from one process to the next ---- */

void generation_continue(uint64_t key)
{
	uint64_t opened = atomic_load(&generation_opened);

	while (opened < key && !atomic_compare_exchange_weak(&generation_opened, &opened, key))
		continue;
}

int generation_record(struct generation *generation, struct error *err)
{
	const struct index *index = generation->index;
	const struct version_record record = {
		.hidden_mode = generation->hidden_mode,
		.member_size = index->member_sizes[0],
		.version = generation->version,
		.members = index->members,
		.block_sums = generation->block_sums,
	};

	return version_record_write(&record, &generation->record, err);
}

/* Takes over the record's version and block checksums. */
static struct generation *generation_of_record(struct version_record *record)
{
	struct generation *generation = calloc(1, sizeof(*generation));

	if (!generation)
		return NULL;
	generation->version = record->version;
	generation->block_sums = record->block_sums;
	version_disown_lists(&record->version);
	record->block_sums = NULL;
	generation->record = -1;
	generation->sequence = generation->version.sequence;
	generation->hidden_mode = record->hidden_mode;
	atomic_init(&generation->uses, 1);
	atomic_init(&generation->lookups, GENERATION_UNKNOWN);
	atomic_init(&generation->has_absences, true);
	atomic_init(&generation->visited, true);
	return generation;
}

static int generation_adopt_parts(struct version_record *record, int index_fd, struct generation **ret,
				  struct error *err)
{
	struct generation *generation;
	int r = generation_check_sequence(&record->version, err);

	if (r < 0)
		return r;
	generation = generation_of_record(record);
	if (!generation)
		return error_no_memory(err);
	r = index_load_lent(index_fd, &generation->version, record->member_size, &record->members, &generation->index,
			    err);
	if (r < 0) {
		if (generation->index)
			generation->index->memfd = -1; /* stays the caller's */
		generation_free(generation);
		return r;
	}
	*ret = generation;
	return 0;
}

int generation_adopt(int record_fd, int index_fd, uint64_t key, struct generation **ret, struct error *err)
{
	struct version_record record;
	int r = version_record_read(record_fd, &record, err);

	if (r < 0)
		return r;
	r = generation_adopt_parts(&record, index_fd, ret, err);
	version_record_free(&record);
	if (r < 0)
		return r;
	(*ret)->key = key;
	(*ret)->record = record_fd;
	generation_continue(key);
	return 0;
}

void generation_put(struct generation *generation)
{
	if (generation && atomic_fetch_sub_explicit(&generation->uses, 1, memory_order_acq_rel) == 1)
		generation_free(generation);
}
