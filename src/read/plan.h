/* SPDX-License-Identifier: MIT */
/* Planning: turns a request into pieces and ranges. */
#pragma once
#include "read/op.h"

/* Prepares to plan size bytes from offset. */
void plan_begin(struct read_op *op, uint64_t offset, uint64_t size);
/* Plans the next round: as much of the request as there are ranges for, and finally the chunk that was put off. */
must_check int plan_round(struct read_op *op, struct error *err);
