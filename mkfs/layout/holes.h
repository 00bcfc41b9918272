/* SPDX-License-Identifier: MIT */
/* The holes of the current file: short ones become records, long ones a list after the records. */
#pragma once
#include "layout/records.h"

/* In chunks. A shorter hole takes at most 20 KiB of records, and older releases cannot read a version with a list. */
#define HOLES_LONG 1024u

struct holes {
	struct records *records; /* to which the file's chunks are added */
	uint32_t chunk_log;
	struct mapped list;      /* struct dsfs_hole, of this file */
	uint64_t first;          /* the file's first record */
	uint64_t pending;        /* chunks of a hole that may continue */
	uint64_t total;          /* chunks in its list */
	uint64_t all;            /* in the lists of the version */
};

must_check int holes_open(struct holes *holes, struct records *records, const struct temp *temp, uint32_t chunk_log,
			  struct error *err);
void holes_close(struct holes *holes); /* a zeroed one as well */

void holes_begin(struct holes *holes);
/* The next chunks of the item's file are a hole. -EFBIG: the lists of a version have no room for it. */
must_check int holes_add(struct holes *holes, const struct item *item, uint64_t chunks, struct error *err);
/* Ends the hole; call it before a chunk of data. */
must_check int holes_flush(struct holes *holes, struct error *err);
/* After the last chunk: *ret_where is the inode's, without DSFS_WHERE_SPARSE. */
must_check int holes_end(struct holes *holes, uint64_t *ret_where, struct error *err);
