/* SPDX-License-Identifier: MIT */
/* Turns planned ranges and pages into device reads. */
#pragma once
#include "read/op.h"

/* Starts what is ready; each read ends in done(). */
void fetch_start(struct read_op *op, void (*done)(struct io_read *io, int result));
