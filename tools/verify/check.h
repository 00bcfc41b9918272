/* SPDX-License-Identifier: MIT */
/* Reads chunks with large reads by several threads, and verifies each. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/catalogue/block_sums.h"
#include "image/index.h"
#include "io/array.h"
#include "verify/damage.h"
#include "verify/item.h"

struct check_counts {
	uint64_t chunks;     /* runs of stored bytes checked */
	uint64_t references; /* (file, chunk) pairs that refer to the chunks */
	uint64_t bytes;      /* stored bytes checked */
	uint64_t transient;  /* chunks that were wrong at first, then right; one device read counts once */
};

struct check_setup {
	struct array_source *volume;
	const struct index *index;
	const struct block_sums *block_sums; /* NULL: none */
	unsigned jobs;
	struct damage_list *damage;
	/* Called under the lock of the counts, at most five times a second; may be NULL. */
	void (*progress)(void *argument, const struct check_counts *counts);
	void *argument;
};

/* Checks a window of items, in item_compare()'s order, and adds to *counts. Damage goes to the list; the call fails
 * only if it could not check. */
must_check int check_window(const struct check_setup *setup, const struct item *items, size_t count,
			    struct check_counts *counts, struct error *err);
