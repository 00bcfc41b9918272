/* SPDX-License-Identifier: MIT */
/* What one thread at a time uses of an opened version: its view of the names, its engines, its buffers. A thread gets
 * the lane again that it used before. A forked child makes lanes of its own and leaves its parent's alone. */
#pragma once
#include <stdbool.h>

#include "image/names.h"
#include "lib/direct.h"
#include "lib/tally.h"
#include "read/read.h"

#define LANE_DEPTH 32u /* reads of the device at a time */

struct batch_slots;

/* The directory that the last path led to, of lookup.c. */
struct lane_memo {
	uint64_t ordinal;
	unsigned links; /* symbolic links on the way */
	size_t length;  /* of the path; 0: none */
	char path[240];
};

#define LANE_FOLDERS 4096u /* a power of two */

struct lane {
	struct direct *direct;
	struct names_reader *names;
	struct lane_memo memo;
	uint64_t folders[LANE_FOLDERS]; /* by hash, where names of directories stand: names_find_place(); 0: none */
	/* For reads; made by lane_start() for the first one. */
	struct reader reader; /* with the engine of the call that is being made */
	struct reader_counters counters;
	struct tally tally;
	struct engine *sync;  /* reads at once, in the caller */
	struct engine *many;  /* several at a time; NULL: not needed yet, or it cannot be had */
	struct engine *lost;  /* a former many, which the kernel has reads of yet */
	bool has_tried_many;
	unsigned depth; /* as of lane_start() */
	bool has_copies; /* the version has bytes with copies */
	bool may_leave;  /* a read that is stuck, as of lane_start() */
	int64_t looked;  /* when it was last looked for those, ns */
	unsigned left;   /* slots that the device keeps: read_leave() */
	struct batch_slots *slots; /* of batch.c; free() them */
	uint8_t *scratch;     /* for slots; mapped, of scratch_size */
	size_t scratch_size;
	/* The thread's. */
	bool is_busy;
	uint64_t key; /* of direct, which may be gone */
	struct lane *next;
	/* Guarded by forked_lock(). */
	_Atomic bool is_dead; /* direct is closed: only this memory is left */
	struct lane *all_next, **all_link;
	struct volume *kept;  /* is_dead, and the device keeps reads: a use of what they need */
	bool is_dropped;      /* by its thread or queue, before the device let go */
};

/* A second one for the same thread when it is in the middle of something: callbacks make calls. */
must_check int lane_enter(struct direct *direct, struct lane **ret, struct error *err);
void lane_leave(struct lane *lane);

/* One that no thread owns, for a queue. */
must_check int lane_new(struct direct *direct, struct lane **ret, struct error *err);
void lane_free(struct lane *lane);

/* What reading needs. many: several reads at a time. depth: of a queue, which threads use in turn: so many reads of the
 * device at a time; 0: only the thread of the lane reads with it. */
must_check int lane_start(struct lane *lane, const struct reader_events *events, bool many, unsigned depth,
			  struct error *err);

/* Before a system call by the engine: if the program closed the descriptor of the ring, reads go on without one. The
 * number may be that of another ring, where they would be waited for without end. */
void lane_check_ring(struct lane *lane);
/* The kernel refuses the ring: the same. */
void lane_lose_ring(struct lane *lane);
/* Ends reads that a lost ring has completed, and lost itself after the last one. */
void lane_wind_up(struct lane *lane);

/* The daemons hear of what this thread has read since it told them last. */
void lane_tell(void);
/* Before the version goes: nobody uses it. */
void lane_close_all(struct direct *direct);
/* For forked_watch(). */
void lane_in_child(void);
