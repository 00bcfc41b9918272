/* SPDX-License-Identifier: MIT */
/* Stores the holes of the current file: short ones become records, long ones a list after the records. */
#pragma once
#include "layout/records.h"

/* Holes of at least this many chunks go to the list. A shorter hole takes at most 20 KiB of records, and older releases
 * cannot read a version with a list. */
#define HOLES_LONG 1024u

struct holes {
	struct records *records; /* gets the file's chunks */
	uint32_t chunk_log;
	struct mapped list;      /* records: the head, then the long holes of this file */
	uint64_t first;          /* the file's first record */
	uint64_t pending;        /* chunks of a hole that may continue */
	uint64_t total;          /* chunks in its list */
	uint64_t all;            /* chunks in all lists of the version */
};

must_check int holes_open(struct holes *holes, struct records *records, const struct temp *temp, uint32_t chunk_log,
			  struct error *err);
void holes_close(struct holes *holes); /* a zeroed one may be closed, too */

/* Begins a file. Its first record is the next one. */
void holes_begin(struct holes *holes);
/* Adds a hole of this many chunks to the item's file. -EFBIG: the lists of a version have no room for it. */
must_check int holes_add(struct holes *holes, const struct item *item, uint64_t chunks, struct error *err);
/* Stores the hole that is pending. Call it before a chunk of data is added. */
must_check int holes_flush(struct holes *holes, struct error *err);
/* Ends the file after its last chunk. *ret_where: the value for the inode's where, without DSFS_WHERE_SPARSE. */
must_check int holes_end(struct holes *holes, uint64_t *ret_where, struct error *err);
