/* SPDX-License-Identifier: MIT */
/* From planned ranges and pages to device reads. */
#pragma once
#include "read/op.h"

/* Starts what is ready; each read ends in done(). */
void fetch_start(struct read_op *op, void (*done)(struct io_read *io, int result));
