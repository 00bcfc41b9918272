/* SPDX-License-Identifier: MIT */
/* Compacts in an order that survives interruption: copies and indexes into free space, flush, read everything back,
 * then commit the catalogue like any other change. */
#include "volume/compaction/compaction.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "io/full.h"
#include "volume/compaction/reindex.h"
#include "volume/compaction/victims.h"
#include "volume/transaction/room.h"

struct compaction_work {
	struct transaction *transaction;
	struct victims victims;
	struct relocate chunks, sections;
	struct reindex reindex;
	struct version *fresh; /* records of affected versions, with their former sequences */
	uint32_t fresh_count;
	struct compaction *result;
	const struct compaction_args *args;
	bool is_rehearsal; /* space is taken as it would be, and nothing is written */
};

static int compaction_open(struct compaction_work *work, struct error *err)
{
	struct transaction *transaction = work->transaction;
	struct source *source = transaction_source(transaction);
	const struct catalogue *catalogue = &transaction->catalogue;
	struct allocator *allocator = &transaction->allocator;
	struct compaction *result = work->result;
	size_t count = catalogue->version_count + 1;
	const struct backing backing = transaction_backing(transaction);
	bool rehearse = work->is_rehearsal;
	int r;

	work->fresh = calloc(count, sizeof(*work->fresh));
	result->versions = calloc(count, sizeof(*result->versions));
	if (!work->fresh || !result->versions)
		return error_no_memory(err);
	r = victims_open(source, &transaction->super, catalogue, &work->victims, err);
	if (r == 0)
		r = relocate_open(backing, allocator, rehearse, &work->chunks, err);
	if (r == 0)
		r = relocate_open(backing, allocator, rehearse, &work->sections, err);
	work->chunks.levels = work->sections.levels = work->args->levels;
	work->reindex = (struct reindex){ .source = source,
					  .catalogue = catalogue,
					  .allocator = allocator,
					  .is_rehearsal = rehearse,
					  .line = &work->victims.line,
					  .victims = &work->victims.chosen,
					  .chunks = &work->chunks,
					  .sections = &work->sections };
	return r;
}

static void compaction_close(struct compaction_work *work)
{
	for (uint32_t i = 0; i < work->fresh_count; i++)
		version_free(&work->fresh[i]);
	free(work->fresh);
	relocate_close(&work->chunks);
	relocate_close(&work->sections);
	victims_close(&work->victims);
}

/* --- writing --- */

/* Keeps the allocator out of the groups that are emptied. */
static void compaction_leave_groups(struct compaction_work *work)
{
	const struct bits *chosen = &work->victims.chosen;
	const struct line *line = &work->victims.line;

	if (!work->transaction->catalogue.members.count)
		return;
	for (uint64_t s = bits_next(chosen, 0, true); s < chosen->count; s = bits_next(chosen, s + 1, true))
		allocator_leave(&work->transaction->allocator, line_address(line, s * line->segment));
}

static int compaction_write(struct compaction_work *work, struct error *err)
{
	const struct catalogue *catalogue = &work->transaction->catalogue;
	int r = work->is_rehearsal ? 0 : transaction_begin(work->transaction, err);

	compaction_leave_groups(work);
	if (r == 0)
		r = relocate_blocks(&work->chunks, &work->victims.line, &work->victims.moving, &work->victims.inside,
				    err);
	for (uint32_t v = 0; r == 0 && v < catalogue->version_count; v++) {
		if (!work->victims.versions[v].is_affected)
			continue;
		r = reindex_version(&work->reindex, &catalogue->versions[v], &work->fresh[work->fresh_count], err);
		work->fresh_count += r == 0;
	}
	work->result->moved_bytes = relocate_bytes(&work->chunks) + relocate_bytes(&work->sections);
	work->result->index_bytes = work->reindex.index_bytes;
	return r;
}

static int compaction_check(struct compaction_work *work, struct error *err)
{
	int r;

	r = source_flush(transaction_source(work->transaction), err);
	allocator_settle(&work->transaction->allocator);
	if (r == 0)
		r = relocate_verify(&work->chunks, err);
	if (r == 0)
		r = relocate_verify(&work->sections, err);
	for (uint32_t i = 0; r == 0 && i < work->fresh_count; i++)
		r = reindex_check(&work->reindex, &work->fresh[i], err);
	return r;
}

/* --- the catalogue --- */

/* Gives a moved version a sequence that was never used: a mount must take it for another version. */
static int compaction_renew(struct catalogue *catalogue, struct version *former, struct version *fresh,
			    struct error *err)
{
	uint64_t before = fresh->sequence;
	int r;

	if (catalogue->next_sequence > DSFS_SEQUENCE_MAX)
		return error_set(err, -E2BIG, "the volume has had too many versions");
	fresh->sequence = catalogue->next_sequence++;
	catalogue_remove(catalogue, former);
	r = catalogue_append(catalogue, fresh, err);
	if (r == 0 && catalogue->current == before)
		catalogue->current = catalogue->next_sequence - 1;
	return r;
}

/* Swaps the records, so that the former one is freed as fresh. */
static void compaction_replace(struct version *former, struct version *fresh)
{
	struct version was = *former;

	*former = *fresh;
	*fresh = was;
}

static int compaction_enter(struct compaction_work *work, const bool *is_moved, struct error *err)
{
	struct catalogue *catalogue = &work->transaction->catalogue;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < work->fresh_count; i++) {
		struct version *fresh = &work->fresh[i];
		struct compaction_moved *moved = &work->result->versions[i];
		struct version *former = catalogue_by_sequence(catalogue, fresh->sequence);

		memcpy(moved->label, fresh->label, sizeof(moved->label));
		moved->former = moved->sequence = fresh->sequence;
		if (is_moved[i]) {
			moved->sequence = catalogue->next_sequence;
			r = compaction_renew(catalogue, former, fresh, err);
		} else {
			compaction_replace(former, fresh);
		}
	}
	return r;
}

/* Enters the new records. The victims' versions are in the order of the former catalogue. */
static int compaction_enter_all(struct compaction_work *work, struct error *err)
{
	const struct victims *victims = &work->victims;
	bool *is_moved = calloc(work->fresh_count + 1, sizeof(*is_moved));
	uint32_t n = 0;
	int r;

	if (!is_moved)
		return error_no_memory(err);
	for (uint32_t v = 0; v < victims->version_count; v++)
		if (victims->versions[v].is_affected)
			is_moved[n++] = victims->versions[v].is_moved;
	r = compaction_enter(work, is_moved, err);
	free(is_moved);
	return r;
}

static int compaction_do(struct compaction_work *work, struct error *err)
{
	struct compaction *result = work->result;
	uint64_t before = 0;
	int r;

	r = room_free(work->transaction, &before, err);
	if (r == 0)
		r = compaction_write(work, err);
	if (r == 0)
		r = compaction_check(work, err);
	result->version_count = work->fresh_count;
	if (r < 0)
		return r;
	r = compaction_enter_all(work, err);
	if (r == 0)
		r = transaction_commit(work->transaction, err);
	if (r == 0)
		result->freed_bytes = room_gained(work->transaction, before);
	return r;
}

/* Lists the versions that will lie elsewhere. */
static void compaction_foresee(struct compaction_work *work)
{
	const struct victims *victims = &work->victims;
	struct compaction *result = work->result;
	uint64_t next = victims->catalogue->next_sequence;

	for (uint32_t v = 0; v < victims->version_count; v++) {
		const struct version *version = &victims->catalogue->versions[v];
		struct compaction_moved *moved = &result->versions[result->version_count];

		if (!victims->versions[v].is_affected)
			continue;
		memcpy(moved->label, version->label, sizeof(moved->label));
		moved->former = version->sequence;
		moved->sequence = victims->versions[v].is_moved ? next++ : version->sequence;
		result->version_count++;
	}
}

static int compaction_rehearse(struct compaction_work *work, struct error *err)
{
	int r = compaction_write(work, err);

	if (r == 0)
		work->result->freed_bytes = work->victims.dead_bytes;
	return r;
}

static int compaction_ask(struct compaction_work *work, struct error *err)
{
	const struct compaction_args *args = work->args;

	if (work->result->segments)
		compaction_foresee(work);
	return args->consent ? args->consent(args->argument, work->result, err) : 0;
}

static int compaction_refuse(const struct transaction *transaction, struct error *err)
{
	char full[FULL_TEXT_SIZE];

	full_describe(transaction->members[transaction_first(transaction)].file->fd, ENOSPC, full);
	return error_wrap(err, -ENOSPC, "%s", full);
}

/* Compacts with room bytes. *ret_again: there was enough room, but not in pieces that are large enough. */
static int compaction_try(struct transaction *transaction, const struct compaction_args *args, uint64_t room,
			  struct compaction *ret, bool *ret_again, struct error *err)
{
	struct compaction result = { 0 };
	struct compaction_work work = {
		.transaction = transaction, .result = &result, .args = args, .is_rehearsal = args->dry_run
	};
	int r;

	r = compaction_open(&work, err);
	if (r == 0)
		r = args->levels ? victims_level(&work.victims, &transaction->allocator, room, err) :
				   victims_choose(&work.victims, args->below, room, err);
	if (r == -ENOSPC)
		r = compaction_refuse(transaction, err);
	result.segments = work.victims.count;
	result.dead_bytes = work.victims.dead_bytes;
	if (r == 0)
		r = compaction_ask(&work, err);
	if (r == 0 && result.segments)
		r = args->dry_run ? compaction_rehearse(&work, err) : compaction_do(&work, err);
	*ret_again = r == -ENOSPC && result.segments && transaction_can_restart(transaction);
	compaction_close(&work);
	if (r < 0) {
		free(result.versions);
		return r;
	}
	*ret = result;
	return 0;
}

/* Retries with half the room, as free space in small pieces holds less than its sum. If that fails, too, with the same
 * error, the first reason is reported. */
int compaction_run(struct transaction *transaction, const struct compaction_args *args, struct compaction *ret,
		   struct error *err)
{
	struct error first = { 0 }, why;
	bool again = false;
	uint64_t room = 0;
	int r;

	r = room_writable(transaction, &room, &first);
	if (r == 0)
		r = compaction_try(transaction, args, room, ret, &again, &first);
	why = first;
	while (again) {
		again = false;
		room /= 2;
		r = transaction_restart(transaction, &why);
		if (r == 0)
			r = compaction_try(transaction, args, room, ret, &again, &why);
	}
	return r < 0 ? error_set(err, r, "%s", r == first.code ? first.reason : why.reason) : 0;
}

int compaction_waiting(const struct transaction *transaction, unsigned below, uint64_t *ret, struct error *err)
{
	struct victims victims = { 0 };
	int r = victims_open(transaction_source(transaction), &transaction->super, &transaction->catalogue, &victims,
			     err);

	if (r == 0)
		r = victims_pick(&victims, below, UINT64_MAX, err);
	if (r == 0)
		*ret = victims.dead_bytes;
	victims_close(&victims);
	return r;
}
