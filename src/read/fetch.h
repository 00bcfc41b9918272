/* SPDX-License-Identifier: MIT */
/* Turns planned ranges and pages into device reads. */
#pragma once
#include "read/op.h"

/* The addresses of all copies of the bytes that it reads; returns how many. */
uint32_t fetch_copies(const struct read_fetch *fetch, uint64_t ret[DSFS_COPIES_MAX]);
enum fetch_wait {
	FETCH_FINE,  /* it does not wait, or not in vain */
	FETCH_STUCK, /* its member is suspect, and another one has the bytes that is not */
	FETCH_ALONE, /* its member is suspect, and so is every other one that has the bytes */
};

enum fetch_wait fetch_look(const struct read_fetch *fetch, int64_t now);
/* Starts what is ready; each read ends in done(). */
void fetch_start(struct read_op *op, void (*done)(struct io_read *io, int result));
