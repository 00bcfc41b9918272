/* SPDX-License-Identifier: MIT */
/* Planning: turns a request into pieces and ranges. */
#pragma once
#include "read/op.h"

/* Nothing is planned yet of so many bytes at offset. */
void plan_begin(struct read_op *op, uint64_t offset, uint64_t size);
/* The next round: as much of the request as there are ranges for; at last what was put off. */
must_check int plan_round(struct read_op *op, struct error *err);
