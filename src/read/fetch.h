/* SPDX-License-Identifier: MIT */
/* Turns the ranges and pages of a round into device reads. */
#pragma once
#include "read/op.h"

/* Lists the addresses of the copies that the fetch may read; returns how many. */
uint32_t fetch_copies(const struct read_fetch *fetch, uint64_t ret[DSFS_COPIES_MAX]);
enum fetch_wait {
	FETCH_FINE,  /* does not wait, or its member is not suspect */
	FETCH_STUCK, /* its member is suspect, but another member with the bytes is not */
	FETCH_ALONE, /* its member and all others with the bytes are suspect */
};

enum fetch_wait fetch_look(const struct read_fetch *fetch, int64_t now);
/* The same for a read that is late, by the window. */
enum fetch_wait fetch_look_late(const struct read_fetch *fetch, int64_t now);
/* Starts every read that is ready, or holds it until the window lets it begin; each one calls done() at its end. */
void fetch_start(struct read_op *op, void (*done)(struct io_read *io, int result));
/* Starts held reads as far as the window allows; for reads that are no longer wanted it calls done() with
 * -ECANCELED. */
void fetch_start_held(struct reader *reader);
