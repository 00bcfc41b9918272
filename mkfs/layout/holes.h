/* SPDX-License-Identifier: MIT */
/* The holes of the file whose chunks are coming: short ones become records, long ones a list behind the records. */
#pragma once
#include "layout/records.h"

/* Chunks. A shorter hole costs at most 20 KiB of records; with it in a list, older releases could not read the version. */
#define HOLES_LONG 1024u

struct holes {
	struct records *records; /* which the file's chunks are added to */
	struct mapped list;      /* struct dsfs_hole, of this file */
	uint64_t first;          /* the file's first record */
	uint64_t pending;        /* chunks of a hole that may go on */
	uint64_t total;          /* chunks in its list */
	uint64_t all;            /* in the lists of the version */
};

must_check int holes_open(struct holes *holes, struct records *records, const struct temp *temp, struct error *err);
void holes_close(struct holes *holes); /* a zeroed one as well */

void holes_begin(struct holes *holes);
/* So many chunks more are a hole. */
void holes_add(struct holes *holes, uint64_t chunks);
/* Before a chunk of data: the hole ends. */
must_check int holes_flush(struct holes *holes, struct error *err);
/* After the last chunk: *ret_where is what the inode says, but for whether the file is sparse. */
must_check int holes_end(struct holes *holes, uint64_t *ret_where, struct error *err);
