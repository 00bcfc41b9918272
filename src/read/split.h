/* SPDX-License-Identifier: MIT */
/* Splits a request into pieces, one for each chunk, and ranges of the device. */
#pragma once
#include "read/op.h"

/* Prepares to split size bytes from offset. */
void split_begin(struct read_op *op, uint64_t offset, uint64_t size);
/* Splits the next round: as much of the request as there are ranges for, and finally the chunk that was put off. */
must_check int split_round(struct read_op *op, struct error *err);
/* Splits the next round of pieces that are read again apart, each as a range of its own. */
void split_apart(struct read_op *op);
