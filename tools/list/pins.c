/* SPDX-License-Identifier: MIT */
/* Sweeps over the beginnings and ends of all extents in address order; between two of them the users do not change. */
#include "list/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "image/members/address.h"

static void pins_add(struct pins *pins, uint32_t segment_log, uint64_t address, uint64_t length, uint32_t user)
{
	uint64_t offset = address_offset(address), from = offset >> segment_log, to;

	if (address_member(address) != pins->member)
		return;
	to = length ? ((offset + length - 1) >> segment_log) + 1 : 0;
	if (to > pins->total)
		to = pins->total;
	if (from >= to)
		return;
	pins->events[pins->count++] = (struct pins_event){ from, user };
	pins->events[pins->count++] = (struct pins_event){ to, user };
}

static int pins_compare(const void *a, const void *b)
{
	const struct pins_event *x = a, *y = b;

	return x->segment < y->segment ? -1 : x->segment > y->segment;
}

int pins_open(const struct catalogue *catalogue, const struct superblock *super, uint32_t member, uint64_t total,
	      struct pins *ret, struct error *err)
{
	struct pins pins = { .member = member, .total = total, .versions = catalogue->version_count };
	size_t extents = 1, words = catalogue->version_count / 64 + 1;

	for (uint32_t v = 0; v < catalogue->version_count; v++)
		extents += catalogue->versions[v].segments.count;
	pins.events = calloc(2 * extents, sizeof(*pins.events));
	pins.active = calloc(words, sizeof(*pins.active));
	pins.odd = calloc(words, sizeof(*pins.odd));
	if (!pins.events || !pins.active || !pins.odd) {
		pins_close(&pins);
		return error_no_memory(err);
	}
	pins_add(&pins, super->segment_log, super->catalogue_address, super->catalogue_length, pins.versions);
	for (uint32_t v = 0; v < catalogue->version_count; v++) {
		const struct extent_list *list = &catalogue->versions[v].segments;

		for (uint32_t i = 0; i < list->count; i++)
			pins_add(&pins, super->segment_log, list->items[i].address, list->items[i].length, v);
	}
	qsort(pins.events, pins.count, sizeof(*pins.events), pins_compare);
	*ret = pins;
	return 0;
}

void pins_close(struct pins *pins)
{
	free(pins->events);
	free(pins->active);
	free(pins->odd);
	*pins = (struct pins){ 0 };
}

static bool pins_flip(uint64_t *bits, uint32_t user)
{
	bits[user / 64] ^= UINT64_C(1) << (user % 64);
	return bits[user / 64] >> (user % 64) & 1;
}

void pins_rewind(struct pins *pins)
{
	memset(pins->active, 0, (pins->versions / 64 + 1) * sizeof(*pins->active));
	pins->next = 0;
	pins->at = 0;
	pins->users = 0;
	pins->user_sum = 0;
}

/* Applies an event. Extents of one user do not overlap, so each event makes the user active or inactive. */
static void pins_apply(struct pins *pins, uint32_t user)
{
	bool begins = pins_flip(pins->active, user);

	if (user == pins->versions)
		return;
	pins->users += begins ? 1 : -1u;
	pins->user_sum += begins ? user : -(uint64_t)user;
}

static size_t pins_end(const struct pins *pins, size_t first)
{
	size_t end = first;

	while (end < pins->count && pins->events[end].segment == pins->events[first].segment)
		end++;
	return end;
}

/* Returns whether the events at a segment cancel each other: an extent ends where another one of its user begins. */
static bool pins_cancel(struct pins *pins, size_t first, size_t end)
{
	uint64_t left = 0;

	for (size_t i = first; i < end; i++)
		left += pins_flip(pins->odd, pins->events[i].user) ? 1 : -UINT64_C(1);
	for (size_t i = first; i < end; i++)
		pins->odd[pins->events[i].user / 64] = 0;
	return left == 0;
}

bool pins_next(struct pins *pins, struct pins_run *ret)
{
	uint64_t to = pins->total;

	if (pins->at >= pins->total)
		return false;
	for (; pins->next < pins->count && pins->events[pins->next].segment == pins->at; pins->next++)
		pins_apply(pins, pins->events[pins->next].user);
	for (size_t end; pins->next < pins->count; pins->next = end) {
		to = pins->events[pins->next].segment;
		end = pins_end(pins, pins->next);
		if (to == pins->total || !pins_cancel(pins, pins->next, end))
			break;
		to = pins->total;
	}
	*ret = (struct pins_run){ pins->at, to, pins->users, (uint32_t)pins->user_sum,
				  pins->active[pins->versions / 64] >> (pins->versions % 64) & 1 };
	pins->at = to;
	return true;
}

uint32_t pins_version(const struct pins *pins, uint32_t from)
{
	for (uint32_t v = from; v < pins->versions; v = (v / 64 + 1) * 64) {
		uint64_t bits = pins->active[v / 64] >> (v % 64);

		if (bits)
			return v + (uint32_t)__builtin_ctzll(bits);
	}
	return pins->versions;
}
