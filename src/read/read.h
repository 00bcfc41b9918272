/* SPDX-License-Identifier: MIT */
/* Reads a range of a file in an opened version: device reads in, verified bytes out. */
#pragma once
#include "read/op.h"

/* Starts the read that op->request describes. May call done() before it returns. */
void read_begin(struct reader *reader, struct read_op *op);
/* Retries the parked reads, which failed on the path to the device; those past the deadline fail. */
void read_retry(struct reader *reader);
/* True if a device read of op waits for a suspect member while another member has the same bytes, and op can be
 * left: no read in flight writes to a payload that it keeps. Called on the reader's thread. */
bool read_is_stuck(const struct read_op *op, int64_t now);
/* The same of a read that is late, by the window. */
bool read_is_late(const struct read_op *op, int64_t now);
/* Abandons a read that is no longer wanted. Its memory, except a payload that it keeps, stays with the device: done()
 * is called with -ECANCELED when the last device read has come back. */
void read_leave(struct read_op *op);
/* Restarts a read that an engine gave back (engine_wind_up()) on the reader's present engine, or ends it if it was
 * left. */
void read_move(struct io_read *io);
/* Begins reads that wait for the window, as far as it lets them. Call it before each wait. Returns for how many ns the
 * wait may last at most; 0: as long as it likes. */
int64_t read_look(struct reader *reader);
/* Fails all parked reads and parks no more, because the device will not come back or the owner is about to end. */
void read_give_up(struct reader *reader);
