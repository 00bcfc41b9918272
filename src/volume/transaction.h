/* SPDX-License-Identifier: MIT */
/* One change of a volume, whoever makes it: lock, fence, load, check, publisher record, commit, undo. README.md says
 * in which order, and what a crash leaves after each step. */
#pragma once
#include "device/fence.h"
#include "io/file.h"
#include "volume/holder.h"
#include "volume/space.h"

#define TRANSACTION_MEMBERS 1u /* as many as a superblock of this release may name */

struct transaction_member {
	struct file_source *file;
	struct source *source;  /* all that is read and written; a test may put its own around it */
	bool is_fresh;          /* a file made for this volume: whoever made it removes it when the change fails */
	uint64_t former_size;   /* of a file, before the first write */
	char former_holder[HOLDER_TEXT_SIZE]; /* who did not finish before us, or "" */
	struct fence fence;
};

enum transaction_state {
	TRANSACTION_OPEN,   /* nothing was written */
	TRANSACTION_BEGUN,  /* everything that was written can be taken back */
	TRANSACTION_ISSUED, /* a superblock slot was, or perhaps was not: nothing is taken back any more */
	TRANSACTION_DONE,   /* the change is in force, and durable */
};

/* A zeroed one can be closed. */
struct transaction {
	const char *path; /* what the volume was called, for messages */
	struct transaction_member members[TRANSACTION_MEMBERS]; /* in the order in which they are locked and written */
	uint32_t member_count;      /* 0: a rehearsal on a volume that is not there yet */
	enum transaction_state state;
	bool is_new;                /* there is no catalogue to continue */
	uint64_t capacity;          /* bytes of a member that may be used */
	struct superblock super;    /* in force; of a new volume: what the first will have, sequence 0 */
	struct catalogue catalogue; /* to be changed */
	struct space space;         /* free under the catalogue in force */
};

/* Opens the members where they were found, in this order, locks them and raises their fences: before anything is read
 * that somebody else could be changing. FILE_READ: neither, for a rehearsal. -EBUSY with who has it; preempt takes it
 * from another host. On failure nothing is left open. */
must_check int transaction_open(const char *path, enum file_mode mode, struct site *sites, uint32_t count, bool preempt,
				struct transaction *ret, struct error *err);
/* The superblock and the catalogue in force. */
must_check int transaction_load(struct transaction *transaction, struct error *err);
/* Refuses what this release must not change, or what is not the newest state; then finds the free space. */
must_check int transaction_check(struct transaction *transaction, struct error *err);
/* Instead of these two, for a new volume: super has its UUID and the size of its segments, capacity is in bytes. */
must_check int transaction_format(struct transaction *transaction, const struct superblock *super, uint64_t capacity,
				  struct error *err);
/* A file that was just made takes the place of a member's, which comes back, with its lock. */
struct file_source *transaction_swap_file(struct transaction *transaction, uint32_t number, struct file_source *fresh);

/* All volume I/O: with one member, that member's. NULL when there is none. */
static inline struct source *transaction_source(const struct transaction *transaction)
{
	return transaction->member_count ? transaction->members[0].source : NULL;
}

/* Says in the publisher record that the volume is being changed: before the first write. */
must_check int transaction_begin(struct transaction *transaction, struct error *err);
/* Begins, unless that was done. The changed catalogue is in force and durable when it returns 0. Otherwise the reason
 * says what is in force, if it is not the state before. */
must_check int transaction_commit(struct transaction *transaction, struct error *err);

/* Whether what is in force is still what was opened: no slot was issued. */
bool transaction_can_restart(const struct transaction *transaction);
/* Then: takes back what was changed in the catalogue, taken from the space, and what files grew by. */
must_check int transaction_restart(struct transaction *transaction, struct error *err);

/* Takes back what can be, if the change is not in force, and lowers the fences: the last command to a device. The locks
 * stay. */
void transaction_end(struct transaction *transaction);
void transaction_close(struct transaction *transaction); /* ends it first, unless that was done */
