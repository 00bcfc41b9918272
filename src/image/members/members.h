/* SPDX-License-Identifier: MIT */
/* The members of a volume and the groups of their segments: where a byte's copies are, and which catalogues came
 * before. A volume without DSFS_INCOMPAT_MEMBERS has none of this: count is 0, and no byte is in a group or has a
 * copy. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "datasetfs/format.h"
#include "image/members/superblock.h"

struct member {
	uint8_t uuid[16];
	uint64_t size;
	uint32_t state;          /* DSFS_MEMBER_* */
	uint64_t stale_sequence; /* of a stale member: its last superblock, and the catalogue that this names */
	uint8_t stale_sha256[32];
	char identity[129], domain[225]; /* NUL-terminated */
	/* Set by catalogue_load() and members_note(), not in the table: the member lacks groups born at or after this
	 * superblock; 1: it lacks all; 0: none. */
	uint64_t missing_from;
	char why[128]; /* set with missing_from: why it is missing or stale, or "" */
};

struct member_group {
	uint64_t birth;
	uint32_t tail; /* used bytes of each column */
	uint32_t first_column;
	uint8_t kind, data, redundant;
};

struct member_epoch {
	uint64_t sequence;
	uint8_t sha256[32];
};

struct member_column { /* the owner of a segment of a member */
	uint64_t address;
	uint32_t group, number; /* number: in the group, from 0 */
};

struct members {
	uint32_t segment_log;
	uint64_t nonce;
	struct member *list; /* by number */
	uint32_t count;
	struct member_group *groups;
	uint32_t group_count;
	uint64_t *columns; /* device addresses */
	uint32_t column_count;
	struct member_epoch history[DSFS_HISTORY_MAX]; /* the newest first */
	uint32_t history_count;
	struct member_column *places; /* all columns, by ascending address */
};

void members_free(struct members *members); /* frees its contents, not the struct */
must_check int members_copy(const struct members *from, struct members *ret, struct error *err);

/* Returns the bytes of a member, 0 if there is none of this number. */
uint64_t members_size(const struct members *members, uint32_t member);
/* Returns the group with a column, of data or not, in the segment of this address; NULL: none. */
struct member_group *members_group(const struct members *members, uint64_t address);
/* True if these bytes lie in one data column, below its tail. */
bool members_in_column(const struct members *members, uint64_t address, uint64_t length);
/* Counts, for each element of members->places, the data columns that directly follow one another from there, so that
 * members_in_columns() takes few steps. free() the result; NULL: out of memory. */
uint32_t *members_runs(const struct members *members);
/* True if data columns begin at this address and cover length bytes. */
bool members_in_columns(const struct members *members, const uint32_t *runs, uint64_t address, uint64_t length);
/* True if the bytes of every group can be read although members are missing. */
bool members_tolerate(const struct members *members);
/* Returns how many members every group can lose, whichever they are. 0 without groups. */
uint32_t members_spare(const struct members *members);
/* Lists the addresses from which the byte at this address of a data column can be read, first the address itself unless
 * its member is missing. Returns how many there are: 1, the address itself, if there is no table or group, or no member
 * with a copy is there. */
uint32_t members_copies(const struct members *members, uint64_t address, uint64_t ret[DSFS_COPIES_MAX]);
/* Whether there are copies of anything. */
bool members_are_redundant(const struct members *members);

/* Returns missing_from of a member, 0 if there is none of this number. */
uint64_t members_missing_from(const struct members *members, uint32_t member);
/* Sets missing_from of a member that came back. Other threads may look for copies meanwhile. */
void members_note(struct members *members, uint32_t member, uint64_t missing_from);

/* Checks that a member's superblock agrees with the table: it has the member's UUID and size, and its copy of the
 * catalogue lies outside of all groups. */
must_check int members_check_superblock(const struct members *members, const struct superblock *super,
					struct error *err);

/* Adds a copy of the group, with the addresses of its columns, data first, which no other group may have. Sets
 * first_column of the copy. */
must_check int members_add_group(struct members *members, const struct member_group *group, const uint64_t *columns,
				 struct error *err);
/* Sorts places by address. False, with the address, if two columns are the same. */
bool members_sort(struct members *members, uint64_t *ret);
/* Adds this superblock's catalogue to the history of the catalogue that is being made. */
void members_remember(struct members *members, const struct superblock *super);
/* Returns how many catalogues ago this one was in force; 0: never, as far as is known. */
uint32_t members_age(const struct members *members, uint64_t sequence, const uint8_t *sha256);
/* Drops the groups whose entry in is_kept, by number, is false. */
void members_keep_groups(struct members *members, const bool *is_kept);
