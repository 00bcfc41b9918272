/* SPDX-License-Identifier: MIT */
/* Memory for the data of replies, for all slots of a channel: address space reserved in one piece, on huge pages, for
 * which memory is used only once it is touched. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct payloads {
	void *map; /* NULL: none */
	size_t map_size;
	uint8_t *base; /* start of the payloads in map, at a huge page */
	size_t size;   /* bytes of each */
};

must_check int payloads_reserve(struct payloads *ret, unsigned slots, size_t size, struct error *err);
void payloads_free(struct payloads *payloads);

static inline uint8_t *payloads_at(const struct payloads *payloads, unsigned slot)
{
	return payloads->base + slot * payloads->size;
}
