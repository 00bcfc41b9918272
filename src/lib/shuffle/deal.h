/* SPDX-License-Identifier: MIT */
/* Deals a sequence of samples to ranks and their workers in slices, and cuts a slice into windows. Arithmetic alone. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "datasetfs/datasetfs.h"

struct deal {
	uint64_t left; /* samples of the sequence */
	uint64_t ranks, workers, batch;
	uint64_t share;   /* samples of each rank; without drop_last, some of the last ranks' are repetitions */
	uint64_t batches; /* of each rank */
};

/* The samples of one worker of one rank: size of them. The first count have consecutive positions; each of the others,
 * at a position behind the sequence, repeats one from its beginning. */
struct deal_slice {
	uint64_t first; /* position in the sequence */
	uint64_t count, size;
};

struct deal_window {
	uint64_t first; /* position in the sequence */
	uint64_t count; /* at most the buffer */
};

must_check int deal_make(struct deal *deal, const struct dsfs_shuffle_deal *wanted, uint64_t left, struct error *err);
struct deal_slice deal_slice(const struct deal *deal, uint64_t rank, uint64_t worker);
/* Returns how many of the slice's samples were in the first so many batches of its rank. */
uint64_t deal_had(const struct deal *deal, const struct deal_slice *slice, uint64_t worker, uint64_t batches);
/* Returns the number of windows, which differ by at most one sample. */
uint64_t deal_windows(const struct deal_slice *slice, uint64_t buffer);
/* number: less than deal_windows(). */
struct deal_window deal_window(const struct deal_slice *slice, uint64_t buffer, uint64_t number);
/* Returns the number of the window that has this sample of the slice: less than slice->count. */
uint64_t deal_window_of(const struct deal_slice *slice, uint64_t buffer, uint64_t sample);
