/* SPDX-License-Identifier: MIT */
/* Replaces a member by another device, or by itself after it was away: copies its columns from members that hold the
 * same bytes, and puts it into the catalogue when it has them all. README.md has the reasons. */
#pragma once
#include "base/progress.h"
#include "volume/replacement_record.h"
#include "volume/transaction.h"

struct replacement_column {
	uint64_t offset;  /* on the member */
	uint64_t birth;   /* of its group */
	uint32_t group, tail;
	bool is_done;
};

/* A zeroed one can be closed. */
struct replacement {
	struct transaction *transaction; /* loaded and checked; member number is_replaced in it */
	uint32_t number;
	uint8_t uuid[16];        /* that the new one will have */
	uint64_t complete;       /* what was born up to this superblock is on it already; 0: nothing */
	struct replacement_column *columns; /* that it needs, in the order of their groups' data */
	uint32_t count;
	uint64_t *sums;          /* the record's, */
	bool is_resumed;         /* which tell something */
	uint64_t used_bytes;     /* of all columns of the member, and of those that were there: */
	uint64_t kept_bytes, read_bytes, written_bytes;
	uint64_t wrong, damaged; /* pieces of content: on one member, and on all; these are copied as they are */
	uint64_t lost_bytes;     /* of columns that nobody else has, */
	uint32_t lost_versions;  /* and versions that have some there */
	struct progress *progress; /* may be NULL */
};

/* Lists the columns that must be copied. */
must_check int replacement_plan(struct replacement *replacement, struct error *err);
/* The least size of the new member: all existing columns lie below it. */
uint64_t replacement_size(const struct replacement *replacement);
/* Finds the columns that file already has, by the record of an interrupted run. Finds nothing if the record belongs to
 * something else. */
must_check int replacement_resume(struct replacement *replacement, struct file_source *file, struct error *err);
/* Sets lost_bytes and lost_versions: content that no member has any more. Call it after replacement_resume(), so that
 * copied columns count as present. */
must_check int replacement_find_lost(struct replacement *replacement, struct error *err);
/* Copies the rest, flushes it and reads it back. Whenever it is cut off, replacement_resume() finds what was done. */
must_check int replacement_copy(struct replacement *replacement, struct file_source *file, struct error *err);
/* How many groups lack a column on another member, because the transaction has that member as missing or stale; and how
 * many bytes have one copy only, or none, for that reason. */
uint32_t replacement_incomplete(const struct replacement *replacement, uint64_t *ret_bytes);
void replacement_close(struct replacement *replacement);
