/* SPDX-License-Identifier: MIT */
/* Checks the bytes that have arrived against their checksums, and puts them where they belong. */
#pragma once
#include "read/op.h"

/* Checks the reads that have arrived. Returns 0 if every range is right, or if some must be read again, which sets
 * *ret_again; with op->wait.to_park they must wait until the device is back. On failure *ret_piece is the piece to
 * blame, if any. */
must_check int settle_round(struct read_op *op, bool *ret_again, const struct read_piece **ret_piece,
			    struct error *err);
