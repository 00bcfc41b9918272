/* SPDX-License-Identifier: MIT */
/* Owns one change of a volume, for every program: lock, fence, load, check, publisher record, commit, undo. README.md
 * has the order, and what a crash leaves after each step. */
#pragma once
#include "device/nvme/fence.h"
#include "image/members/backing.h"
#include "io/array.h"
#include "volume/space/allocator.h"
#include "volume/transaction/degraded.h"
#include "volume/transaction/holder.h"

struct transaction_member {
	struct file_source *file; /* owned by the array; NULL: the member is missing or stale */
	uint64_t capacity;        /* usable bytes; SPACE_ENDLESS: a file */
	struct superblock super;  /* the one in force here; of a new volume: fields for the first one, sequence 0 */
	bool is_newcomer;       /* it is new; until it comes, its place may be empty */
	bool is_read_only;      /* it is being replaced, and is opened for reading only */
	bool is_left_behind;    /* it is missing, and the change makes it stale */
	bool is_fresh;          /* a file made for this volume: its creator removes it when the change fails */
	uint64_t former_size;   /* size of a file before the first write */
	char former_holder[HOLDER_TEXT_SIZE]; /* the publisher that did not finish before us, or "" */
	struct fence fence;
};

enum transaction_state {
	TRANSACTION_OPEN,   /* nothing was written */
	TRANSACTION_BEGUN,  /* everything that was written can be undone */
	TRANSACTION_ISSUED, /* a superblock slot may have been written: nothing is undone any more */
	TRANSACTION_DONE,   /* the change is in force, and durable */
};

/* A zeroed transaction can be closed. After load or format it must not move in memory: its allocator points into it. */
struct transaction {
	const char *path; /* the volume's name as the user gave it, for messages */
	struct array_source *array;
	struct source *source;      /* the array's; a test may put its own around it */
	struct transaction_member *members; /* by number; they are locked and written in this order */
	struct superblock_ring *rings; /* SUPERBLOCK_RINGS of them, loaded after locking */
	uint32_t member_count;      /* 0: a rehearsal for a volume that does not exist yet */
	enum transaction_state state;
	bool is_new;                /* the volume is new: there is no catalogue to continue */
	bool is_reproducible;       /* the same change of the same volume makes the same bytes */
	enum degraded degraded;     /* how many members may be missing */
	uint32_t copies;            /* copies of new bytes, the original included; 0: as many as last time */
	struct superblock super;    /* the one in force */
	struct catalogue catalogue; /* the caller changes it */
	struct allocator allocator; /* free space under the catalogue in force */
};

/* Opens one file or device, locks it and raises its fence. On failure nothing is left open. */
must_check int transaction_open_member(const char *path, struct site *site, bool preempt,
				       struct transaction_member *ret, struct error *err);
void transaction_close_member(struct transaction_member *member, const char *path);
#define TRANSACTION_ALL_STAY UINT32_MAX

struct transaction_setup {
	const char *path;    /* the volume's name as the user gave it, for messages */
	struct site *sites;  /* a site without a file gets one; a site without a path is a missing member's */
	uint32_t count;
	enum file_mode mode; /* FILE_READ, for a rehearsal: neither locks nor raises fences */
	uint32_t leaving;    /* the member to be replaced, which may be read-only, or TRANSACTION_ALL_STAY */
	bool preempt;        /* take the volume from a publisher on another host */
};

/* Opens the members in the order of their sites, locks them and raises their fences, before anything is read that
 * others could be changing. -EBUSY, with the holder: another publisher has it. On failure nothing is left open. */
must_check int transaction_open(const struct transaction_setup *setup, struct transaction *ret, struct error *err);
/* Loads the superblock and the catalogue in force. */
must_check int transaction_load(struct transaction *transaction, struct error *err);
/* Refuses volumes that this release must not change, any state but the newest, and missing members unless they are
 * allowed; then finds the free space. */
must_check int transaction_check(struct transaction *transaction, struct error *err);
/* Takes the place of transaction_load() and transaction_check() for a new volume. super has its UUID and its segment
 * size; list has its members, if it has several. The capacity of each member must be set. */
must_check int transaction_format(struct transaction *transaction, const struct superblock *super,
				  const struct member *list, struct error *err);
/* Puts a file that was just made in the place of a member's, and returns the former one, still locked. */
struct file_source *transaction_swap_file(struct transaction *transaction, uint32_t number, struct file_source *fresh);

/* Returns the lowest number of a member that is there; member_count: none is. */
uint32_t transaction_first(const struct transaction *transaction);
/* Announces a successor of this member, for transaction_replace(): the member may be missing, and is not written to, as
 * it may be failing. Must be called before transaction_check(). */
void transaction_await(struct transaction *transaction, uint32_t number);
/* Puts newcomer in the place of a member; newcomer must have all bytes that the catalogue places on that member, but
 * needs no catalogue. Takes the contents of newcomer. The former member may be in any state. */
must_check int transaction_replace(struct transaction *transaction, uint32_t number,
				   const struct transaction_member *newcomer, struct error *err);
/* Adds newcomer, which needs no catalogue, to a volume of several members. Takes the contents of newcomer.
 * transaction_begin() must come before. */
must_check int transaction_add(struct transaction *transaction, const struct transaction_member *newcomer,
			       struct error *err);
/* Returns the source for all I/O on the volume; NULL: there is no member. */
static inline struct source *transaction_source(const struct transaction *transaction)
{
	return transaction->source;
}

/* Returns the backing from which the sections on the volume are read. */
static inline struct backing transaction_backing(const struct transaction *transaction)
{
	return (struct backing){ transaction->source, &transaction->catalogue.members, transaction->super.member_size };
}

/* Returns the offset behind a member's last byte, including this change so far. */
uint64_t transaction_end_of(const struct transaction *transaction, uint32_t member);

/* Sets the present identity of a member's namespace, and its failure domain. Must precede transaction_check(). */
void transaction_set_identity(struct transaction *transaction, uint32_t number, const char *identity,
			      const char *domain);

/* Writes the publisher record, and brings members that are behind up to date. Must be called before the first write. */
must_check int transaction_begin(struct transaction *transaction, struct error *err);
/* Returns the bytes by which a member's device is larger than the volume on it. */
uint64_t transaction_grown(const struct transaction *transaction, uint32_t number);
/* Makes these bytes the volume's. transaction_begin() must come before: members that are behind get the catalogue in
 * force, which has the former size. */
must_check int transaction_grow(struct transaction *transaction, uint32_t number, struct error *err);
/* Commits, after transaction_begin() if the caller has not called it. On 0 the changed catalogue is in force and
 * durable on all members that are not missing. Otherwise the reason names the state in force, if it is not the former
 * one. */
must_check int transaction_commit(struct transaction *transaction, struct error *err);

/* Returns whether the state that was opened is still in force, because no slot was issued. */
bool transaction_can_restart(const struct transaction *transaction);
/* Undoes the change in the catalogue, the free space and the size of files. Requires transaction_can_restart(). */
must_check int transaction_restart(struct transaction *transaction, struct error *err);

/* Undoes as much as possible if the change is not in force, and lowers the fences, with the last commands to each
 * device. The locks stay. */
void transaction_end(struct transaction *transaction);
void transaction_close(struct transaction *transaction); /* calls transaction_end() first */
