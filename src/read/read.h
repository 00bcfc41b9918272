/* SPDX-License-Identifier: MIT */
/* Reads a range of a file in an opened version: device reads in, verified bytes out. */
#pragma once
#include "read/op.h"

/* op->request is filled in. May call done() before it returns. */
void read_begin(struct reader *reader, struct read_op *op);
/* Tries the reads again that failed because of the way to the device; what is past the deadline fails. */
void read_retry(struct reader *reader);
/* Whether a device read of it waits at a member that is suspect, while another one has the same bytes. It can be left:
 * nothing that it waits for writes to a payload that it keeps. The reader's thread. */
bool read_is_stuck(const struct read_op *op, int64_t now);
/* Whoever wanted it does not any more. Its memory stays with the device, but for a payload that it keeps: when the last
 * device read of it has come back, done() is called with -ECANCELED. */
void read_leave(struct read_op *op);
/* What an engine gave back (engine_wind_up()) is read with the reader's present one, unless it was left: then it is
 * over. */
void read_move(struct io_read *io);
/* The device will not come back, or the reader's owner ends: what is parked fails, and nothing is parked any more. */
void read_give_up(struct reader *reader);
