/* SPDX-License-Identifier: MIT */
/* The holes of the large file whose chunks are coming: short ones become records, long ones a list behind them. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "spill/mapped.h"

/* Chunks. A shorter hole costs at most 20 KiB of records; with it in a list, older releases could not read the version. */
#define HOLES_LONG 1024u

struct holes {
	struct mapped list; /* struct dsfs_hole, of this file */
	uint64_t first;     /* the file's first record */
	uint64_t pending;   /* chunks of a hole that may go on */
	uint64_t total;     /* chunks in its list */
	uint64_t all;       /* in the lists of the version */
};

struct sequence;

void holes_begin(struct sequence *sequence);
/* So many chunks more are a hole. */
void holes_add(struct sequence *sequence, uint64_t chunks);
/* Before a chunk of data: the hole ends. */
must_check int holes_flush(struct sequence *sequence, struct error *err);
/* After the last chunk: *ret_where is what the inode says, but for whether the file is sparse. */
must_check int holes_end(struct sequence *sequence, uint64_t *ret_where, struct error *err);
