/* SPDX-License-Identifier: MIT */
/* One change of a volume, whoever makes it: lock, fence, load, check, publisher record, commit, undo. README.md says
 * in which order, and what a crash leaves after each step. */
#pragma once
#include "device/fence.h"
#include "io/array.h"
#include "volume/allocator.h"
#include "volume/degraded.h"
#include "volume/holder.h"

struct transaction_member {
	struct file_source *file; /* the array's; NULL: it is missing or stale */
	uint64_t capacity;        /* bytes that may be used; SPACE_ENDLESS: a file */
	struct superblock super;  /* in force on it; of a new volume: what the first will have, sequence 0 */
	bool is_replaced;       /* nobody misses it, as its successor comes */
	bool is_read_only;      /* it leaves, and cannot be written to any more */
	bool is_left_behind;    /* it is missing, and the change makes it stale */
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

/* A zeroed one can be closed. Once it was loaded or formatted it stays where it is: its allocator points into it. */
struct transaction {
	const char *path; /* what the volume was called, for messages */
	struct array_source *array;
	struct source *source;      /* the array's; a test may put its own around it */
	struct transaction_member *members; /* by number, in which order they are locked and written */
	struct superblock_ring *rings; /* SUPERBLOCK_RINGS of them, as they were loaded behind the locks */
	uint32_t member_count;      /* 0: a rehearsal on a volume that is not there yet */
	enum transaction_state state;
	bool is_new;                /* there is no catalogue to continue */
	bool is_reproducible;       /* the same change of the same volume makes the same bytes */
	enum degraded degraded;     /* which members may be missing */
	uint32_t copies;            /* of what is written, itself included; 0: as many as last time */
	struct superblock super;    /* member 0's */
	struct catalogue catalogue; /* to be changed */
	struct allocator allocator; /* free under the catalogue in force */
};

/* Opens one file or device, locks it and raises its fence. Nothing is left open on failure. */
must_check int transaction_open_member(const char *path, struct site *site, bool preempt,
				       struct transaction_member *ret, struct error *err);
void transaction_close_member(struct transaction_member *member, const char *path);
/* Opens the members where they were found, in this order, locks them and raises their fences: before anything is read
 * that somebody else could be changing. A site without a file is made; one without a path is that of a member that is
 * missing. FILE_READ: neither, for a rehearsal. leaving: the member that is to be replaced, which may be read-only, or
 * TRANSACTION_ALL_STAY. -EBUSY with who has it; preempt takes it from another host. On failure nothing is left open. */
#define TRANSACTION_ALL_STAY UINT32_MAX
must_check int transaction_open(const char *path, enum file_mode mode, struct site *sites, uint32_t count,
				uint32_t leaving, bool preempt,
				struct transaction *ret, struct error *err);
/* The superblock and the catalogue in force. */
must_check int transaction_load(struct transaction *transaction, struct error *err);
/* Refuses what this release must not change, what is not the newest state, and to go on without members unless that
 * was allowed; then finds the free space. */
must_check int transaction_check(struct transaction *transaction, struct error *err);
/* Instead of these two, for a new volume: super has its UUID and the size of its segments, list its members when they
 * are several. Each member has its capacity. */
must_check int transaction_format(struct transaction *transaction, const struct superblock *super,
				  const struct member *list, struct error *err);
/* A file that was just made takes the place of a member's, which comes back, with its lock. */
struct file_source *transaction_swap_file(struct transaction *transaction, uint32_t number, struct file_source *fresh);

/* The lowest number of a member that is there; member_count: none is. */
uint32_t transaction_first(const struct transaction *transaction);
/* Member number has a successor, which transaction_replace() brings: it is not missed, and not written to, as it may be
 * failing. Before transaction_check(). */
void transaction_await(struct transaction *transaction, uint32_t number);
/* Another file or device takes the place of the member, whatever becomes of the former one: it has all that the
 * catalogue says, but no catalogue. Takes what newcomer has. */
must_check int transaction_replace(struct transaction *transaction, uint32_t number,
				   const struct transaction_member *newcomer, struct error *err);
/* All volume I/O. NULL when there is no member. */
static inline struct source *transaction_source(const struct transaction *transaction)
{
	return transaction->source;
}
/* Where a member's last byte is, as far as the change goes by now. */
uint64_t transaction_end_of(const struct transaction *transaction, uint32_t member);

/* What the namespace that a member is on is called now, and what it fails with. Before transaction_check(). */
void transaction_set_identity(struct transaction *transaction, uint32_t number, const char *identity,
			      const char *domain);

/* Says in the publisher record that the volume is being changed: before the first write. */
must_check int transaction_begin(struct transaction *transaction, struct error *err);
/* Begins, unless that was done. The changed catalogue is in force and durable on all members that are not missing when
 * it returns 0. Otherwise the reason says what is in force, if it is not the state before. */
must_check int transaction_commit(struct transaction *transaction, struct error *err);

/* Whether what is in force is still what was opened: no slot was issued. */
bool transaction_can_restart(const struct transaction *transaction);
/* Then: takes back what was changed in the catalogue, taken from the space, and what files grew by. */
must_check int transaction_restart(struct transaction *transaction, struct error *err);

/* Takes back what can be, if the change is not in force, and lowers the fences: the last command to a device. The locks
 * stay. */
void transaction_end(struct transaction *transaction);
void transaction_close(struct transaction *transaction); /* ends it first, unless that was done */
