/* SPDX-License-Identifier: MIT */
/* Batch k of a rank comes from worker k % workers, as in PyTorch's DataLoader, so a worker's slice is as many samples
 * as its batches have, and each slice is read by one worker alone. */
#include "lib/shuffle/deal.h"

#include <errno.h>
#include <inttypes.h>

#include "datasetfs/format.h"

#define DEAL_STREAMS_MAX (UINT64_C(1) << 20)

static uint64_t deal_least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t deal_divide_up(uint64_t number, uint64_t by)
{
	return number / by + (number % by != 0);
}

static int deal_check(const struct dsfs_shuffle_deal *wanted, struct error *err)
{
	if (wanted->size < sizeof(*wanted))
		return error_set(err, -EINVAL, "a deal of %" PRIu32 " bytes, expected %zu", wanted->size,
				 sizeof(*wanted));
	if (!wanted->ranks || !wanted->workers || wanted->ranks > DEAL_STREAMS_MAX / wanted->workers)
		return error_set(err, -EINVAL, "%" PRIu64 " ranks with %" PRIu64 " workers each, expected 1 … %" PRIu64
				 " workers together", wanted->ranks, wanted->workers, DEAL_STREAMS_MAX);
	if (wanted->rank >= wanted->ranks)
		return error_set(err, -EINVAL, "rank %" PRIu64 ", expected 0 … %" PRIu64, wanted->rank,
				 wanted->ranks - 1);
	if (!wanted->batch || wanted->batch > UINT64_C(1) << DSFS_ORDINAL_BITS)
		return error_set(err, -EINVAL, "batches of %" PRIu64 " samples, expected 1 … 2^%u", wanted->batch,
				 DSFS_ORDINAL_BITS);
	return 0;
}

int deal_make(struct deal *deal, const struct dsfs_shuffle_deal *wanted, uint64_t left, struct error *err)
{
	int r = deal_check(wanted, err);

	if (r < 0)
		return r;
	*deal = (struct deal){ .left = left, .ranks = wanted->ranks, .workers = wanted->workers,
			       .batch = wanted->batch };
	if (wanted->drop_last)
		deal->share = left / deal->ranks / deal->batch * deal->batch;
	else
		deal->share = deal_divide_up(left, deal->ranks);
	deal->batches = deal_divide_up(deal->share, deal->batch);
	return 0;
}

/* Returns how many samples of a rank come before those of the worker; of all workers with worker == workers. Only the
 * last batch of a rank may be short. */
static uint64_t deal_before(const struct deal *deal, uint64_t worker)
{
	uint64_t each = deal->batches / deal->workers, more = deal->batches % deal->workers;
	uint64_t last = deal->batches ? (deal->batches - 1) % deal->workers : 0;
	uint64_t samples = (worker * each + deal_least(worker, more)) * deal->batch;

	return worker > last ? samples - (deal->batches * deal->batch - deal->share) : samples;
}

struct deal_slice deal_slice(const struct deal *deal, uint64_t rank, uint64_t worker)
{
	uint64_t begin = deal_before(deal, worker), end = deal_before(deal, worker + 1);
	uint64_t first = rank * deal->share + begin;

	return (struct deal_slice){ first, first < deal->left ? deal_least(end - begin, deal->left - first) : 0,
				    end - begin };
}

uint64_t deal_had(const struct deal *deal, const struct deal_slice *slice, uint64_t worker, uint64_t batches)
{
	uint64_t own;

	batches = deal_least(batches, deal->batches);
	own = batches / deal->workers + (worker < batches % deal->workers);
	return deal_least(own * deal->batch, slice->size);
}

uint64_t deal_windows(const struct deal_slice *slice, uint64_t buffer)
{
	return deal_divide_up(slice->count, buffer);
}

struct deal_window deal_window(const struct deal_slice *slice, uint64_t buffer, uint64_t number)
{
	uint64_t windows = deal_windows(slice, buffer), each = slice->count / windows, more = slice->count % windows;

	return (struct deal_window){ slice->first + number * each + deal_least(number, more), each + (number < more) };
}

uint64_t deal_window_of(const struct deal_slice *slice, uint64_t buffer, uint64_t sample)
{
	uint64_t windows = deal_windows(slice, buffer), each = slice->count / windows, more = slice->count % windows;

	if (sample < more * (each + 1))
		return sample / (each + 1);
	return more + (sample - more * (each + 1)) / each;
}
