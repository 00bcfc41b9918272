/* SPDX-License-Identifier: MIT */
/* Measures how many bytes can be written to a volume and how many a change gains, and gives free space back to the
 * filesystem. */
#pragma once
#include "volume/transaction/transaction.h"

/* Returns the bytes that a publish could use, under the transaction's catalogue, without the volume growing. */
must_check int room_free(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* Returns, after the commit, by how many bytes room_free() exceeds `before`, its former value; 0, with a line in the
 * log: not known. */
uint64_t room_gained(const struct transaction *transaction, uint64_t before);
/* Returns how many bytes can be written; for a file, as many as it has blocks for and its filesystem has left. */
must_check int room_writable(const struct transaction *transaction, uint64_t *ret, struct error *err);
/* Makes the free space of members that are files into holes. Must be called after the commit. *ret_bytes: bytes of
 * these holes. */
must_check int room_give_back(const struct transaction *transaction, uint64_t *ret_bytes, struct error *err);
