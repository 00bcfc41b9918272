/* SPDX-License-Identifier: MIT */
/* Verified files that nobody has asked for yet: a bounded cache, filled a batch at a time by the thread that reads
 * ahead, and emptied by the READs of workers. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "image/inode.h"

#define KEPT_FILES 512u /* of a batch */

struct fetcher_job;
struct kept;
struct kept_batch;

enum kept_state {
	KEPT_OUT,    /* not in the table */
	KEPT_COMING, /* being read */
	KEPT_READY,
};

/* A READ that waits for a file that is being read. */
struct kept_waiter {
	void (*arrived)(struct kept_waiter *waiter); /* or it failed; by the thread that reads ahead */
	struct kept_waiter *next;
};

enum kept_found { KEPT_NONE, KEPT_FOUND, KEPT_LATER };

struct kept_file {
	uint64_t key, ordinal;
	uint32_t offset, size; /* in the batch */
	bool is_marker;        /* is to stay until its READ */
	_Atomic enum kept_state state; /* changes under the cache's lock */
	struct kept_batch *batch;
	struct kept_waiter *waiters; /* under the lock */
	struct kept_file *next; /* with the same hash */
};

/* What one fetch brings: files, one behind the other. */
struct kept_batch {
	uint8_t *bytes; /* page-aligned; NULL until kept_reserve() */
	size_t size;
	uint64_t memory; /* with what it takes itself, which counts: it may be more than the bytes of a small file */
	uint32_t owner; /* the user for whom it is kept, where users have shares */
	uint32_t count;
	unsigned uses;   /* files in the table, READs that look at it, and its fetch; under the lock */
	int64_t arrived; /* ns, monotonic */
	struct kept_batch *next;
	/* Its fetch's: */
	struct fetcher_job *job;
	struct kept_batch *next_store; /* the next one whose files are to be stored */
	uint32_t next_file;            /* to be stored */
	struct kept_file files[KEPT_FILES];
};

/* A part of a file, pinned. */
struct kept_piece {
	const uint8_t *bytes;
	size_t size;
	struct kept_file *file;
	bool is_last; /* it ends with the file */
};

/* most: bytes of all batches; 0: there will be none. */
must_check int kept_new(uint64_t most, struct kept **ret, struct error *err);
void kept_free(struct kept *kept);

/* ---- a READ ---- */

/* Any thread; a few loads when the file is not there. KEPT_LATER: it is being read, and the waiter will be told; never
 * when it is NULL. */
enum kept_found kept_take(struct kept *kept, uint64_t key, uint64_t ordinal, uint64_t offset, uint64_t size,
			  struct kept_waiter *waiter, struct kept_piece *ret);
/* The bytes were used; a file that was read to its end is not needed any more. */
void kept_release(struct kept *kept, const struct kept_piece *piece);

/* ---- the thread that reads ahead ---- */

/* An empty batch; NULL: no memory. */
struct kept_batch *kept_begin(uint32_t owner);
/* One more file; its bytes come behind the others'. */
void kept_add(struct kept *kept, struct kept_batch *batch, uint64_t key, const struct inode *inode, bool is_marker);
/* Memory for the bytes of its files. What came first makes room; *ret_dropped: files of it that nobody asked for. */
must_check int kept_reserve(struct kept *kept, struct kept_batch *batch, uint64_t *ret_dropped);
/* Its bytes are there: from here on READs find them. */
void kept_arrive(struct kept *kept, struct kept_batch *batch);
/* The kernel has this file now. */
void kept_remove(struct kept *kept, struct kept_file *file);
/* The fetch is done with it; is_bad: no file of it is of use. */
void kept_end(struct kept *kept, struct kept_batch *batch, bool is_bad);
/* Its fetch does not come back for now: READs that wait for its files are told, and it has none any more. */
void kept_give_up(struct kept *kept, struct kept_batch *batch);
/* A file that is there is pinned, until kept_unpin(). NULL: it is not. */
struct kept_file *kept_pin(struct kept *kept, uint64_t key, uint64_t ordinal);
void kept_unpin(struct kept *kept, struct kept_file *file);
/* Drops what arrived before that time (ns, monotonic). Returns how many files nobody asked for. */
uint64_t kept_expire(struct kept *kept, int64_t before);
/* So many bytes at most from here on: what came first goes. Returns how many files nobody asked for. */
uint64_t kept_limit(struct kept *kept, uint64_t most);
/* Memory of all batches, also of those that are being read. Any thread. */
uint64_t kept_bytes(const struct kept *kept);
/* Memory of what has arrived and is kept for a user. Any thread. */
uint64_t kept_bytes_of(struct kept *kept, uint32_t owner);
/* Whether there is nothing to expire. Any thread. */
bool kept_is_empty(const struct kept *kept);
