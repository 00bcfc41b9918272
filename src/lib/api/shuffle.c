/* SPDX-License-Identifier: MIT */
/* Implements the public orders of an epoch. They read nothing and belong to no handle. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "lib/reason.h"
#include "lib/shuffle/sequence.h"

struct dsfs_shuffle {
	struct sequence sequence;
};

int dsfs_shuffle_new(const struct dsfs_shuffle_options *options, struct dsfs_shuffle **ret)
{
	struct error *err = reason_begin();
	struct dsfs_shuffle *shuffle = calloc(1, sizeof(*shuffle));
	int r;

	if (!shuffle)
		return error_no_memory(err);
	r = sequence_make(&shuffle->sequence, options, err);
	if (r < 0) {
		free(shuffle);
		return r;
	}
	*ret = shuffle;
	return 0;
}

void dsfs_shuffle_free(struct dsfs_shuffle *shuffle)
{
	if (!shuffle)
		return;
	sequence_free(&shuffle->sequence);
	free(shuffle);
}

int dsfs_shuffle_resume(struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *wanted, uint64_t batches)
{
	struct error *err = reason_begin();
	struct deal deal;
	int r = deal_make(&deal, wanted, sequence_left(&shuffle->sequence), err);

	return r < 0 ? r : sequence_resume(&shuffle->sequence, &deal, batches, err);
}

uint64_t dsfs_shuffle_left(const struct dsfs_shuffle *shuffle)
{
	return sequence_left(&shuffle->sequence);
}

int dsfs_shuffle_at(struct dsfs_shuffle *shuffle, uint64_t position, uint64_t step, uint64_t count, uint64_t *ret)
{
	struct error *err = reason_begin();
	uint64_t left = sequence_left(&shuffle->sequence);
	int r = 0;

	if (count && !left)
		return error_set(err, -EINVAL, "no samples are left, and %" PRIu64 " are wanted", count);
	if (count)
		position %= left, step %= left;
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		r = sequence_at(&shuffle->sequence, position, &ret[i], err);
		position = (position + step) % left;
	}
	return r;
}

int64_t dsfs_shuffle_batches(const struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *wanted)
{
	struct error *err = reason_begin();
	struct deal deal;
	int r = deal_make(&deal, wanted, sequence_left(&shuffle->sequence), err);

	return r < 0 ? r : (int64_t)deal.batches;
}

/* --- a batch --- */

/* Samples from, from + 1, … of a slice. All lie in one window, or all repeat samples of the beginning. */
static int shuffle_get_run(struct sequence *sequence, const struct deal_slice *slice,
			   const struct deal_window *window, uint64_t from, uint64_t count, uint64_t *ret,
			   struct error *err)
{
	struct permutation mix = { 0 };
	uint64_t left = sequence_left(sequence);
	int r = window ? sequence_mix(sequence, window, &mix, err) : 0;

	for (uint64_t i = 0; r == 0 && i < count; i++) {
		uint64_t position = slice->first + from + i;

		if (window)
			position = window->first + permutation_element(&mix, position - window->first);
		r = sequence_at(sequence, position % left, &ret[i], err);
	}
	permutation_free(&mix);
	return r;
}

static int shuffle_get_samples(struct sequence *sequence, const struct deal_slice *slice, uint64_t from, uint64_t end,
			       uint64_t *ret, struct error *err)
{
	struct deal_window window;
	uint64_t run_end;
	int r = 0;

	for (; r == 0 && from < end; from = run_end) {
		bool is_own = from < slice->count;

		run_end = end;
		if (is_own) {
			window = deal_window(slice, sequence->buffer, deal_window_of(slice, sequence->buffer, from));
			if (window.first + window.count - slice->first < end)
				run_end = window.first + window.count - slice->first;
		}
		r = shuffle_get_run(sequence, slice, is_own ? &window : NULL, from, run_end - from, ret, err);
		ret += run_end - from;
	}
	return r;
}

static struct dsfs_shuffle_windows shuffle_windows_of(const struct sequence *sequence, const struct deal_slice *slice,
						      uint64_t from, uint64_t end)
{
	uint64_t first, last;

	if (from >= slice->count)
		return (struct dsfs_shuffle_windows){ 0 };
	first = deal_window_of(slice, sequence->buffer, from);
	last = deal_window_of(slice, sequence->buffer, (end < slice->count ? end : slice->count) - 1);
	return (struct dsfs_shuffle_windows){ first, last - first + 1 };
}

int64_t dsfs_shuffle_batch(struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *wanted, uint64_t number,
			   uint64_t *ret, struct dsfs_shuffle_windows *ret_windows)
{
	struct error *err = reason_begin();
	struct sequence *sequence = &shuffle->sequence;
	struct deal_slice slice;
	struct deal deal;
	uint64_t from, end;
	int r = deal_make(&deal, wanted, sequence_left(sequence), err);

	if (r < 0)
		return r;
	if (number >= deal.batches)
		return error_set(err, -EINVAL, "batch %" PRIu64 ", and there are %" PRIu64, number, deal.batches);
	slice = deal_slice(&deal, wanted->rank, number % deal.workers);
	from = number / deal.workers * deal.batch;
	end = slice.size - from < deal.batch ? slice.size : from + deal.batch;
	if (ret)
		r = shuffle_get_samples(sequence, &slice, from, end, ret, err);
	if (r == 0 && ret_windows)
		*ret_windows = shuffle_windows_of(sequence, &slice, from, end);
	return r < 0 ? r : (int64_t)(end - from);
}

int dsfs_shuffle_window(const struct dsfs_shuffle *shuffle, const struct dsfs_shuffle_deal *wanted, uint64_t worker,
			uint64_t number, uint64_t *ret_position, uint64_t *ret_count)
{
	struct error *err = reason_begin();
	const struct sequence *sequence = &shuffle->sequence;
	struct deal_window window = { 0 };
	struct deal_slice slice;
	struct deal deal;
	int r = deal_make(&deal, wanted, sequence_left(sequence), err);

	if (r == 0 && worker >= deal.workers)
		r = error_set(err, -EINVAL, "worker %" PRIu64 ", expected 0 … %" PRIu64, worker, deal.workers - 1);
	if (r < 0)
		return r;
	slice = deal_slice(&deal, wanted->rank, worker);
	if (number < deal_windows(&slice, sequence->buffer))
		window = deal_window(&slice, sequence->buffer, number);
	*ret_position = window.first;
	*ret_count = window.count;
	return 0;
}
