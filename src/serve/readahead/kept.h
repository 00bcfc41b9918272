/* SPDX-License-Identifier: MIT */
/* A bounded cache of verified files that were read ahead. The thread that reads ahead fills it a batch at a time, and
 * the READs of workers empty it. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/hash.h"
#include "image/inode.h"

#define KEPT_FILES 512u /* limit of files in a batch */

struct fetcher_job;
struct kept;
struct kept_batch;

enum kept_state {
	KEPT_OUT,    /* the file is not in the table */
	KEPT_COMING, /* the file is being read */
	KEPT_READY,
};

/* A READ that waits for a file that is being read ahead. */
struct kept_waiter {
	void (*arrived)(struct kept_waiter *waiter); /* called on the reading thread: the file arrived or failed */
	struct kept_waiter *next;
};

enum kept_found { KEPT_NONE, KEPT_FOUND, KEPT_LATER };

struct kept_file {
	struct hash_link link; /* must be the first field */
	uint64_t key, ordinal;
	uint32_t offset, size; /* place in the batch's bytes */
	bool is_marker;        /* the file is not stored, so that its READ shows where the reader is */
	_Atomic enum kept_state state; /* changes under the cache's lock */
	struct kept_batch *batch;
	struct kept_waiter *waiters; /* under the lock */
};

/* Counts the files that are kept for one of several users. The caller makes it, zeroed; it must stay as long as bytes
 * is not 0. */
struct kept_account {
	_Atomic uint64_t bytes;   /* memory of the batches, including those being read */
	_Atomic uint64_t expired; /* files that were never read, since the start */
};

/* The files that one fetch brings, one after another in one buffer. */
struct kept_batch {
	uint8_t *bytes; /* page-aligned; NULL until kept_reserve() */
	size_t size;
	uint64_t memory; /* size plus this struct, which may be larger than a small file */
	struct kept_account *account; /* of the user for whom it is kept; NULL: there are no shares */
	uint32_t count;
	unsigned uses;   /* files in the table, pieces that READs hold, and the fetch; under the lock */
	int64_t arrived; /* when it arrived, ns, monotonic */
	uint64_t arrived_bytes; /* kept->arrived_bytes at that time */
	struct kept_batch *next;
	/* Fetcher only: */
	struct fetcher_job *job;
	struct kept_batch *next_store; /* next batch with files to store */
	uint32_t next_file;            /* next file to store */
	struct kept_file files[KEPT_FILES];
};

/* The file and range that a READ asks for. */
struct kept_range {
	uint64_t key; /* of the generation */
	uint64_t ordinal, offset, size;
};

/* A part of a kept file; its batch is pinned. */
struct kept_piece {
	const uint8_t *bytes;
	size_t size;
	struct kept_file *file;
	bool is_last; /* the piece reaches the end of the file */
};

/* Makes an empty cache. most: limit of bytes of all batches; 0: nothing is kept. */
must_check int kept_new(uint64_t most, struct kept **ret, struct error *err);
/* Frees the cache with all batches that have arrived. NULL is allowed. */
void kept_free(struct kept *kept);

/* ---- functions for READs ---- */

/* Finds a range and pins it. KEPT_LATER: the file is being read, and waiter->arrived() will be called; with waiter NULL
 * the result is KEPT_NONE instead. Costs a few loads if the file is not kept. Any thread may call this. */
enum kept_found kept_take(struct kept *kept, const struct kept_range *range, struct kept_waiter *waiter,
			  struct kept_piece *ret);
/* Unpins a piece. A file that was read to its end leaves the cache. */
void kept_release(struct kept *kept, const struct kept_piece *piece);

/* ---- functions for the thread that reads ahead ---- */

/* Makes an empty batch. account: see kept_batch. The caller holds a use of it until kept_end(). NULL: no memory. */
struct kept_batch *kept_begin(struct kept_account *account);
/* Adds a file to the batch; its bytes will follow those of the files before it. READs can wait for it from now on. */
void kept_add(struct kept *kept, struct kept_batch *batch, uint64_t key, const struct inode *inode, bool is_marker);
/* Allocates memory for the bytes of the batch's files, and drops the oldest batches to make room. -ENOMEM: no memory.
 * *ret_dropped, also on failure: how many files were dropped unread. */
must_check int kept_reserve(struct kept *kept, struct kept_batch *batch, uint64_t *ret_dropped);
/* Publishes the batch once its bytes have been read: READs find its files from now on, and those that wait for them are
 * notified. */
void kept_arrive(struct kept *kept, struct kept_batch *batch);
/* Removes a file that was stored: the kernel serves it from now on. */
void kept_remove(struct kept *kept, struct kept_file *file);
/* Gives up the fetch's use of the batch. is_bad: the fetch failed, so its files are removed, and READs that wait for
 * them are notified. */
void kept_end(struct kept *kept, struct kept_batch *batch, bool is_bad);
/* Removes the files of a batch whose fetch is stuck, and notifies READs that wait for them. The batch itself stays
 * until kept_end(). */
void kept_give_up(struct kept *kept, struct kept_batch *batch);
/* Finds a file that has arrived and pins it until kept_unpin(). NULL: it is not kept. */
struct kept_file *kept_pin(struct kept *kept, uint64_t key, uint64_t ordinal);
/* Unpins a file from kept_pin(). */
void kept_unpin(struct kept *kept, struct kept_file *file);
/* Drops batches that will not be read: they arrived before the time `before` (ns, monotonic), and no kept file was read
 * since then, or twice as much came after them as may be kept, so that a reader in this order has passed them. Returns
 * how many files were dropped unread. */
uint64_t kept_expire(struct kept *kept, int64_t before);
/* Sets the limit of bytes, and drops the oldest batches above it. Returns how many files were dropped unread. */
uint64_t kept_limit(struct kept *kept, uint64_t most);
/* Bytes of memory of all batches, including those being read; 0: there is no batch. Any thread may call this. */
uint64_t kept_bytes(const struct kept *kept);
