/* SPDX-License-Identifier: MIT */
/* Owns thread contexts: the engines and buffers by which one thread at a time reads an opened version. A thread gets
 * its former context again. A forked child makes contexts of its own and leaves its parent's alone. */
#pragma once
#include <stdbool.h>

#include "image/names/names.h"
#include "lib/direct/daemon/tally.h"
#include "lib/direct/direct.h"
#include "read/queue.h"

#define CONTEXT_DEPTH 32u /* reads of the device in flight */

struct batch_files;

/* The directory that the last path led to; lookup.c owns it. */
struct context_memo {
	uint64_t ordinal;
	unsigned links; /* symbolic links on the way */
	size_t length;  /* of the path; 0: nothing is remembered */
	char path[240];
};

struct context_engines {
	struct engine *one;  /* one read at a time, in the calling thread */
	struct engine *many; /* several reads in flight; NULL: not needed yet, or not available */
	struct engine *lost; /* the former `many`, while it still has reads in the kernel */
	bool has_tried_many;
};

#define CONTEXT_FOLDERS 4096u /* a power of two */

struct context {
	struct direct *direct;
	struct context_memo memo;
	uint64_t folders[CONTEXT_FOLDERS]; /* by hash, the place of a directory's name: names_find_place(); 0: none */
	/* For reads; the first context_start() makes them. */
	struct queue queue; /* uses the engine of the current call; if it watches, stuck reads can be given up */
	struct reader_counters counters;
	struct tally tally;
	struct context_engines engines;
	unsigned depth; /* as passed to context_start() */
	struct cached *cached; /* a use of the volume's, with which the queue reads */
	bool may_leave; /* stuck reads can be made elsewhere: bytes have copies, or there is a cache */
	struct batch_files *files; /* owned by batch.c; free() them */
	/* The owning thread's. */
	bool is_busy;
	uint64_t key; /* of direct, which may have been freed */
	struct context *next;
	/* Guarded by forked_lock(). */
	_Atomic bool is_dead; /* direct is closed: only this structure is left */
	struct context *all_next, **all_link;
	struct direct_volume *kept;  /* set if is_dead with reads in flight: the use of the volume that they need */
	bool is_dropped;      /* its thread or queue ended before those reads did */
};

/* Gives the thread its context of this version, or a second one if the first is busy, as when a callback makes a
 * call. */
must_check int context_enter(struct direct *direct, struct context **ret, struct error *err);
void context_leave(struct context *context);

/* Makes a context that no thread owns, for a queue. */
must_check int context_new(struct direct *direct, struct context **ret, struct error *err);
void context_free(struct context *context);

/* Prepares the context for reads of this client. many: several reads may be in flight. depth: the number of reads of
 * the device in flight, for the context of a queue, which threads use in turn; 0: only the context's own thread reads
 * with it. */
must_check int context_start(struct context *context, const struct queue_client *client, bool many, unsigned depth,
			     struct error *err);

/* Takes the cache of another daemon that serves the mount by now, if there is one and no read is under way. */
void context_renew_cached(struct context *context);
/* Must be called before each system call of the engine. If the program closed the ring's descriptor, reads go on
 * without a ring: another ring may have got its number, and a wait on that one would never end. */
void context_check_ring(struct context *context);
/* Goes on without the ring, after the kernel refused to use it. */
void context_lose_ring(struct context *context);
/* Ends reads that a lost ring has completed, and frees the ring after the last one. */
void context_wind_up(struct context *context);

/* Tells the daemons what this thread has read since its last report. */
void context_tell(void);
/* Closes all contexts of a version that nothing uses any more, before it is freed. */
void context_close_all(struct direct *direct);
