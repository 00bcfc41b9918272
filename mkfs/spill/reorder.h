/* SPDX-License-Identifier: MIT */
/* Brings records from one order into another. If the two orders are much the same, records are fetched as they are
 * needed. Otherwise all requests are sorted by where the records lie, then the records by where they are needed: both
 * are read from end to end, however much the orders differ. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "spill/temp.h"

struct sorter;

/* A callback that sets *ret to the record at from, valid until the next call. */
typedef int reorder_get(void *argument, uint64_t from, uint64_t to, const void **ret, size_t *ret_length,
			struct error *err);

struct reorder {
	struct temp_stream requests; /* its buffer holds some of them while they are read back */
	uint64_t taken;        /* bytes of the requests that were read into the buffer */
	size_t at, used;       /* bytes of the buffer that were used, and that it has */
	uint64_t count, jumps; /* requests, and those far from the one before */
	uint64_t last;         /* from of the last request */
	reorder_get *get;
	void *argument;
	struct sorter *records; /* NULL: records are fetched as they are needed */
};

must_check int reorder_open(struct reorder *reorder, const struct temp *temp, struct error *err);
void reorder_close(struct reorder *reorder); /* a zeroed one may be closed, too */
/* Adds a request: the record at from is needed at to, which is higher with each call. */
must_check int reorder_ask(struct reorder *reorder, uint64_t from, uint64_t to, struct error *err);
/* Ends the requests. get() may be called until the last reorder_next(). */
must_check int reorder_fetch(struct reorder *reorder, reorder_get *get, void *argument, struct error *err);
/* Returns 1 and the next record (valid until the next call) in the order of to, 0 at the end, or a negative errno. */
must_check int reorder_next(struct reorder *reorder, uint64_t *ret_to, const void **ret, size_t *ret_length,
			    struct error *err);
