/* SPDX-License-Identifier: MIT */
/* Brings records from one order into another. All wishes are sorted by where the records lie, then the records by where
 * they are needed: both are read from end to end, however the two orders differ. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "spill/temp.h"

struct sorter;

struct reorder {
	struct sorter *wishes;
	struct sorter *records;
};

/* A callback that sets *ret to the record at from, valid until the next call. */
typedef int reorder_get(void *argument, uint64_t from, uint64_t to, const void **ret, size_t *ret_length,
			struct error *err);

must_check int reorder_open(struct reorder *reorder, const struct temp *temp, struct error *err);
void reorder_close(struct reorder *reorder); /* a zeroed one as well */
/* Adds a wish: the record at from is needed at to. */
must_check int reorder_ask(struct reorder *reorder, uint64_t from, uint64_t to, struct error *err);
/* Gets all records in the order in which they lie, after the last wish. */
must_check int reorder_fetch(struct reorder *reorder, reorder_get *get, void *argument, struct error *err);
/* Returns 1 and the next record (valid until the next call) in the order of to, 0 at the end, or a negative errno. */
must_check int reorder_next(struct reorder *reorder, uint64_t *ret_to, const void **ret, size_t *ret_length,
			    struct error *err);
