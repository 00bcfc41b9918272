/* SPDX-License-Identifier: MIT */
/* Reads that wait because the way to the device fails: which reads may wait, for how long, and the list of them. */
#pragma once
#include "read/op.h"

/* Whether a device read that failed with this failed on the way to the device: not what the device says of a block that
 * it cannot read (ENODATA, EILSEQ), which would not pass. EAGAIN does not come here: engines repeat it. */
bool park_is_path_error(int result);
/* Whether what failed with this result is to be tried again later: then op->waits is set. */
bool park_may_wait(struct read_op *op, int result);
/* It has waited for as long as a read may. */
bool park_is_overdue(const struct read_op *op);
void park_add(struct read_op *op);
/* Takes all that are parked. */
struct read_op *park_take(struct reader *reader);
