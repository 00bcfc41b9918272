/* SPDX-License-Identifier: MIT */
/* Opens and closes versions. */
#include "serve/version/generation.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "image/records.h"

static _Atomic uint64_t generation_opened; /* the greatest key that a version has */

static void generation_free(struct generation *generation)
{
	opened_version_close(&generation->opened);
	close_fd(&generation->record);
	free(generation);
}

static int generation_check_sequence(const struct version *version, struct error *err)
{
	if (version->sequence <= NODE_SEQUENCE_MAX)
		return 0;
	return error_set(err, -EOPNOTSUPP, "version '%s' has sequence %llu, expected at most %llu", version->label,
			 (unsigned long long)version->sequence, (unsigned long long)NODE_SEQUENCE_MAX);
}

/* Takes the contents of *opened on success. */
static int generation_new(struct opened_version *opened, struct generation **ret, struct error *err)
{
	struct generation *generation;
	int r = generation_check_sequence(&opened->version, err);

	if (r < 0)
		return r;
	generation = calloc(1, sizeof(*generation));
	if (!generation)
		return error_no_memory(err);
	generation->opened = *opened;
	*opened = (struct opened_version){ .index = NULL };
	generation->record = -1;
	generation->sequence = generation->opened.version.sequence;
	atomic_init(&generation->uses, 1);
	*ret = generation;
	return 0;
}

int generation_open(struct opened_version *opened, struct generation **ret, struct error *err)
{
	auto_close int record = -1;
	int r = opened_version_record(opened, &record, err);

	if (r == 0)
		r = generation_new(opened, ret, err);
	if (r < 0)
		return r;
	(*ret)->record = take_fd(&record);
	(*ret)->key = atomic_fetch_add(&generation_opened, 1) + 1;
	return 0;
}

/* ---- from one process to the next ---- */

void generation_continue(uint64_t key)
{
	uint64_t opened = atomic_load(&generation_opened);

	while (opened < key && !atomic_compare_exchange_weak(&generation_opened, &opened, key))
		continue;
}

int generation_adopt(int *record_fd, int *index_fd, uint64_t key, struct generation **ret, struct error *err)
{
	struct opened_version opened = { .index = NULL };
	int r = opened_version_receive(*record_fd, index_fd, &opened, err);

	if (r == 0)
		r = records_measure(opened.index, err);
	if (r == 0)
		r = generation_new(&opened, ret, err);
	opened_version_close(&opened);
	if (r < 0)
		return r;
	atomic_init(&(*ret)->lookups, GENERATION_UNKNOWN);
	atomic_init(&(*ret)->has_absences, true);
	atomic_init(&(*ret)->visited, true);
	(*ret)->key = key;
	(*ret)->record = take_fd(record_fd);
	generation_continue(key);
	return 0;
}

void generation_put(struct generation *generation)
{
	if (generation && atomic_fetch_sub_explicit(&generation->uses, 1, memory_order_acq_rel) == 1)
		generation_free(generation);
}
