/* SPDX-License-Identifier: MIT */
/* Replaces a member by another device, or by itself after it was away: copies its columns from members that hold the
 * same bytes, and enters it into the catalogue when it has all of them. README.md has the reasons. */
#pragma once
#include "base/program/progress.h"
#include "volume/replacement/replacement_record.h"
#include "volume/transaction/transaction.h"

struct replacement_column {
	uint64_t offset;  /* offset on the member */
	uint64_t birth;   /* birth of its group */
	uint32_t group, tail;
	bool is_done;
};

/* A replacement in progress. A zeroed one can be closed. */
struct replacement {
	struct transaction *transaction; /* loaded and checked, with is_newcomer set for the member */
	uint32_t number;
	uint8_t uuid[16];        /* member UUID of the new member */
	uint64_t complete;       /* columns born up to this superblock are on the new member already; 0: none */
	struct replacement_column *columns; /* columns that it needs, in the order of their groups' data */
	uint32_t count;
	uint64_t *sums;          /* sums from the record */
	bool is_resumed;         /* an earlier run left these sums */
	uint64_t used_bytes;     /* bytes of all columns of the member; kept_bytes: those already on the new one */
	uint64_t kept_bytes, read_bytes, written_bytes;
	uint64_t wrong, damaged; /* pieces wrong on one member, and on all; the latter are copied as they are */
	uint64_t lost_bytes;     /* bytes of columns that no other member has */
	uint32_t lost_versions;  /* versions that have content in the lost bytes */
	struct progress *progress; /* may be NULL */
};

/* Lists the columns that must be copied. */
must_check int replacement_plan(struct replacement *replacement, struct error *err);
/* Returns the least size of the new member, in bytes: all existing columns lie below it. */
uint64_t replacement_size(const struct replacement *replacement);
/* Finds the columns that file already has, by the record of an interrupted run. Finds nothing if the record belongs to
 * something else. */
must_check int replacement_resume(struct replacement *replacement, struct file_source *file, struct error *err);
/* Sets lost_bytes and lost_versions: content that no member has any more. Call it after replacement_resume(), so that
 * copied columns count as present. */
must_check int replacement_find_lost(struct replacement *replacement, struct error *err);
/* Copies the rest, flushes it and reads it back. After an interruption replacement_resume() finds the columns that are
 * done. */
must_check int replacement_copy(struct replacement *replacement, struct file_source *file, struct error *err);
/* Returns how many groups lack a column on another member that is missing or stale in the transaction; *ret_bytes:
 * bytes that therefore have one copy only, or none. */
uint32_t replacement_incomplete(const struct replacement *replacement, uint64_t *ret_bytes);
void replacement_close(struct replacement *replacement);
