/* SPDX-License-Identifier: MIT */
/* Checks what has arrived against its checksums, and puts it where it belongs. */
#pragma once
#include "read/op.h"

/* 0: every range is right, or is to be read again, which *ret_again says; op->waits: when the device is back.
 * On failure *ret_piece is to blame, if a piece is. */
must_check int settle_round(struct read_op *op, bool *ret_again, const struct read_piece **ret_piece,
			    struct error *err);
