/* SPDX-License-Identifier: MIT */
/* Measures how much of a volume can be written and what a change gains, and gives free space back to the filesystem. */
#pragma once
#include "volume/transaction/transaction.h"

/* Returns the bytes that a publish could use without the volume growing, by the transaction's catalogue. */
must_check int room_free(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* Returns by how much room_free() has grown since before, after the commit; 0, with a line in the log: not known. */
uint64_t room_gained(const struct transaction *transaction, uint64_t before);
/* Returns how many bytes can be written; in a file, as many as it has blocks for and its filesystem has left. */
must_check int room_writable(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* Makes holes of all free space in files, after the commit. *ret_bytes: bytes of these holes. */
must_check int room_give_back(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err);
