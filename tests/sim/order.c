/* SPDX-License-Identifier: MIT */
#include "order.h"

static void order_shuffle(struct order *order)
{
	bool is_common = order->setup->kind == ORDER_SHARD; /* an order that is dealt out */
	uint64_t who = is_common ? UINT32_MAX : order->worker;
	struct random random = { order->setup->seed + (who << 32) + order->epoch };

	order->key = random_next(&random);
}

/* A Feistel network makes another order of the numbers of 2 * half bits. */
static uint64_t order_mix(uint64_t number, unsigned half, uint64_t key)
{
	uint64_t mask = (UINT64_C(1) << half) - 1, left = number >> half, right = number & mask, next;

	for (uint64_t round = 0; round < 4; round++) {
		next = left ^ (random_next(&(struct random){ key + (round << 32) + right }) & mask);
		left = right;
		right = next;
	}
	return left << half | right;
}

/* Numbers that are too large are mixed again: so each position has a file of its own. */
static uint32_t order_at(const struct order *order, uint64_t position)
{
	unsigned half = 1;

	while (UINT64_C(1) << 2 * half < order->among)
		half++;
	do
		position = order_mix(position, half, order->key);
	while (position >= order->among);
	return order->base + (uint32_t)position;
}

void order_init(struct order *order, const struct order_setup *setup, uint32_t worker)
{
	uint32_t part = setup->files / setup->workers;

	*order = (struct order){ .setup = setup, .worker = worker, .among = setup->files, .skip = 1,
				 .count = setup->files };
	if (setup->kind == ORDER_FIXED) {
		order->base = worker * part;
		order->among = order->count = part;
	} else if (setup->kind == ORDER_SHARD) {
		order->skip = setup->workers;
		order->count = part;
	}
	order_shuffle(order);
}

uint32_t order_next(struct order *order, bool *ret_ends)
{
	bool is_common = order->setup->kind == ORDER_SHARD;
	uint64_t position = (uint64_t)order->turn++ * order->skip + (is_common ? order->worker : 0);
	uint32_t file = order_at(order, position);

	*ret_ends = order->turn == order->count;
	if (*ret_ends) {
		order->turn = 0;
		order->epoch++;
		order_shuffle(order);
	}
	return file;
}
