/* SPDX-License-Identifier: MIT */
/* How much of a volume can be written, what a change gains, and how free space goes back to the filesystem. */
#pragma once
#include "volume/transaction.h"

/* Bytes that a publish could use without the volume growing, as seen from the transaction's catalogue. */
must_check int room_free(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* By how much that has grown, after the commit; 0, and a line in the log, when it cannot be found out. */
uint64_t room_gained(const struct transaction *transaction, uint64_t before);
/* What can be written: of a file as much as it has blocks for and as its filesystem has left. */
must_check int room_writable(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* Of a file, after the commit: what is free becomes a hole. */
must_check int room_give_back(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err);
