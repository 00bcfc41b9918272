/* SPDX-License-Identifier: MIT */
/* The order in which a worker reads files: each of its files once an epoch, in another order each time. */
#pragma once
#include <stdbool.h>

#include "random.h"

enum order_kind {
	ORDER_ALL,   /* each worker reads all files */
	ORDER_SHARD, /* in each epoch all files are dealt out to the workers anew */
	ORDER_FIXED, /* each worker reads the same part in every epoch */
};

struct order_setup {
	enum order_kind kind;
	uint32_t files, workers;
	uint64_t seed;
};

struct order {
	const struct order_setup *setup;
	uint32_t worker, epoch; /* epoch: of the next file, from 0 on */
	uint32_t turn, count;   /* files of this epoch that are read, and all */
	uint32_t base, among, skip; /* it reads each skip-th position of an order of so many files, from base on */
	uint64_t key;           /* of that order */
};

/* The setup must outlive it. */
void order_init(struct order *order, const struct order_setup *setup, uint32_t worker);
/* Returns the next file. True in *ret_ends: it is the last one of its epoch. */
uint32_t order_next(struct order *order, bool *ret_ends);
