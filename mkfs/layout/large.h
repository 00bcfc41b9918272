/* SPDX-License-Identifier: MIT */
/* Files larger than a batch: they come in pieces and share runs of chunks. */
#pragma once
#include "layout/sequence.h"

/* A piece of the file; *ret_done when it was the last. Then large_where and large_sparse are the file's. */
must_check int large_piece(struct sequence *sequence, const struct batch *batch, const struct item *item,
			   bool *ret_done, struct error *err);
/* Pieces between two others, all of them a hole. */
must_check int large_skip(struct sequence *sequence, const struct item *item, struct error *err);
