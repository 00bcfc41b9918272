/* SPDX-License-Identifier: MIT */
/* Reads that wait while the path to the device fails: which reads may wait, for how long, and the list of them. */
#pragma once
#include "read/op.h"

/* True if a device read with this result failed on the path to the device. ENODATA and EILSEQ are not path errors: the
 * device reports a block that it cannot read, and waiting would not help. Engines repeat EAGAIN themselves. */
bool park_is_path_error(int result);
/* Decides whether a read that failed with this result is retried later, and sets op->wait.to_park if so. */
bool park_may_wait(struct read_op *op, int result);
/* True if the read has waited for the device until the deadline. */
bool park_is_overdue(const struct read_op *op);
void park_add(struct read_op *op);
/* Empties the list of parked reads and returns it, linked by op->wait.next. */
struct read_op *park_take(struct reader *reader);
