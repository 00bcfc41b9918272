/* SPDX-License-Identifier: MIT */
/* Reads a range of a file in an opened version: device reads in, verified bytes out. */
#pragma once
#include "read/op.h"

/* op->request is filled in. May call done() before it returns. */
void read_begin(struct reader *reader, struct read_op *op);
/* Tries the reads again that failed because of the way to the device; what is past the deadline fails. */
void read_retry(struct reader *reader);
/* The device will not come back, or the reader's owner ends: what is parked fails, and nothing is parked any more. */
void read_give_up(struct reader *reader);
