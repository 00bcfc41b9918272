/* SPDX-License-Identifier: MIT */
/* Decides how many reads a mount has under way, of which urgency, so that the readers of a device share it without
 * knowing of each other; and when a read that is late may be made again elsewhere. It uses no device and no clock:
 * times are passed in, in ns of any monotonic clock, so a simulation runs the same code. All threads that read a volume
 * in a process share one window; no call takes a lock.
 *
 * A window grows a little with each read that took about as long as a read of its size takes without any queue, and
 * shrinks when a part of them took several times that; single ones do on any device. How many times is the class: a
 * background read gives way first, then read-ahead.
 *
 * A window that did not shrink for WINDOW_CALM, and for which no read had to wait, opens: reads
 * that a program waits for begin, and threads write to nothing that they share. When many reads of one are slow it
 * closes, and all are counted together. Background reads are always counted, and only as many begin as their own size
 * allows. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define WINDOW_GROWTH 0.1                     /* reads that a window grows by in a round trip */
#define WINDOW_STEEP  1.0                     /* the same of one in the background that was not cut yet */
#define WINDOW_CUT    0.5                     /* the part that is left of a window after a round trip, at least */
#define WINDOW_SLOW   4u                      /* of so many reads, one that is slow is too many */
#define WINDOW_SMALL  8.0                     /* a window twice this large is not cut unless it is in use */
#define WINDOW_MOST   4096.0                  /* the first size, which is as good as none; 1 in the background */
#define WINDOW_LEAST  (1.0 / 64)              /* of a background window, which waits between two reads below 1 */
#define WINDOW_QUICK  INT64_C(50000)          /* ns: a base is taken for this at least, or noise would look like load */
#define WINDOW_MEMORY INT64_C(40000)          /* ns: a read that took less came from memory or the like; its size has */
#define WINDOW_NOISE  INT64_C(125000)         /* this base then: what delays such reads is this machine, not others */
#define WINDOW_CALM   INT64_C(1000000000)     /* ns without need of it, after which a window opens; */
#define WINDOW_FIRST  INT64_C(250000000)      /* that many after its first read are enough */
#define WINDOW_DRIFT  INT64_C(60000000000)    /* ns in which a base doubles at most, if the device has become slower */
#define WINDOW_BURST  INT64_C(10000000)       /* ns of an allowance (max_iops=, max_bandwidth=) that may be saved up */
#define WINDOW_TIMES  24u                     /* of latencies, in powers of two of a microsecond, as in counter.h */
#define WINDOW_SIZES  12u                     /* reads up to 4 KiB, 8 KiB, … 8 MiB */
#define WINDOW_BUDGET 50u                     /* of so many reads, one may be made again because it is late */
#define WINDOW_SAVED  8u                      /* that may be late at once */
#define WINDOW_LATE   6                       /* a read that takes so many medians is late: the first one is lost */
#define WINDOW_KNOWN  256u                    /* reads of a size after which it is known when one is late */
#define WINDOW_STEPS  128u                    /* of lateness: quarters of powers of two, from 4 µs */
#define WINDOW_LOOK   INT64_C(1000000)        /* ns between two looks of a thread whose reads wait, at most */
#define WINDOW_TURN   INT64_C(100000)         /* ns between two looks of all threads that have nothing under way */

/* Ranges of the options that limit reads and bytes a second. */
#define WINDOW_IOPS_MAX      UINT64_C(1000000000)
#define WINDOW_BANDWIDTH_MIN (UINT64_C(1) << 20)
#define WINDOW_BANDWIDTH_MAX (UINT64_C(1) << 40)

/* By urgency. */
enum window_class { WINDOW_DEMAND, WINDOW_AHEAD, WINDOW_BACKGROUND, WINDOW_CLASSES };

struct window_share {
	_Atomic uint32_t under_way;   /* but for those of threads that have not called since the window was closed */
	_Atomic double size;          /* the most reads of all classes under way when one of this class begins */
	_Atomic int64_t shrunk;       /* reads that began before this time do not shrink it again */
	_Atomic uint32_t slow;        /* WINDOW_SLOW for a slow read, less 1 for each other one */
	_Atomic uint32_t slow_at;     /* number of the last slow read's member, and 1 */
	_Atomic bool is_steep;        /* it grows by WINDOW_STEEP */
	_Atomic int64_t due;          /* below 1: when the next read may begin */
};

/* How long reads of one size take. */
struct window_base {
	_Atomic int64_t base; /* ns of a read that waits for no other; 0: not known */
	_Atomic int64_t at;   /* when it last changed, or could have */
	_Atomic bool is_quick; /* a read took less than WINDOW_MEMORY */
};

struct window_member {
	struct window_base bases[WINDOW_SIZES];
	/* Of latencies; sums in ns. Not counted of a single member, as all reads say the same. */
	_Atomic uint64_t times[WINDOW_CLASSES][WINDOW_TIMES], sums[WINDOW_CLASSES];
};

/* How late reads of one size are. */
struct window_lateness {
	_Atomic uint32_t count, steps[WINDOW_STEPS];
	_Atomic int64_t late; /* ns after which a read is late; 0: not known */
};

/* An allowance a second, which is used up read by read. */
struct window_allowance {
	uint64_t rate;       /* a second; 0: no limit */
	_Atomic int64_t due; /* when the reads so far are paid for */
};

struct window {
	/* Read by every call, and seldom written to. */
	uint32_t count;     /* members */
	bool is_adaptive;   /* false: only the allowances hold reads back, and it is always open */
	_Atomic bool is_redundant; /* late reads are looked for, as there are copies */
	_Atomic bool is_open;
	_Atomic uint32_t sharers; /* processes that are to use no more than one window together */
	struct window_allowance iops, bandwidth;
	char apart[64]; /* what follows is written to, and has other cache lines */
	_Atomic int64_t limited; /* when it last shrank or a read had to wait; 0: no read has ended yet */
	_Atomic uint32_t peak, former, ends; /* most reads under way lately and before; reads that ended since then */
	_Atomic uint32_t claimants, hungry; /* threads whose reads wait, and those that have none under way as well */
	struct window_share shares[WINDOW_CLASSES];
	struct window_lateness lateness[WINDOW_SIZES];
	_Atomic uint32_t credit; /* towards hedges, in reads */
	_Atomic uint64_t hedges, wins;
	char apart_too[64];
	struct window_member members[];
};

struct window_setup {
	uint32_t members;
	bool is_adaptive;
	uint64_t iops, bandwidth; /* reads and bytes a second; 0: no limit */
};

/* A thread's part of the window. A thread that waits for each of its reads needs none: NULL. */
struct window_thread {
	uint32_t under_way;
	bool is_counted; /* among those of its class */
	uint32_t slow;   /* while the window is open, as of a share */
	bool claims;  /* reads of it wait; known to the others, as is the next */
	bool hungers; /* and none is under way */
};

/* A read that window_take() let begin. */
struct window_read {
	enum window_class class;
	uint32_t member;
	uint64_t bytes;
	int64_t begun;
	int64_t own; /* ns of that time in which the reader itself was busy: no delay of the device */
};

must_check int window_new(const struct window_setup *setup, struct window **ret, struct error *err);
void window_free(struct window *window); /* NULL does nothing */
/* Says that there are copies, so late reads may be made again elsewhere. Any thread. */
void window_allow_hedges(struct window *window);
/* Sets the number of processes that share the reads of one window. Any thread. */
void window_divide(struct window *window, uint32_t sharers);

/* Tells the other threads what this one has. */
void window_tell(struct window *window, struct window_thread *thread, bool claims);
/* Returns whether it is this thread's turn to begin a read: threads whose reads wait have equal parts of the window, or
 * take turns if there are more threads than reads. */
bool window_is_fair(const struct window *window, enum window_class class, const struct window_thread *thread);
/* Returns for how many ns a thread whose reads wait need not look again, if none of its own ends meanwhile. */
int64_t window_pause(const struct window *window, enum window_class class, bool hungers, int64_t now);

/* Lets a read of bytes begin, and counts it as under way. False: it has to wait until another one has ended, or for
 * window_pause(). */
bool window_take(struct window *window, enum window_class class, struct window_thread *thread, uint64_t bytes,
		 int64_t now);
/* Whether the read took so long that it may shrink a window with waiting reads: only then the caller has to find out
 * own. */
bool window_is_slow(const struct window *window, const struct window_read *read, int64_t now);
/* Ends a read that began, and learns from how long it took. result: bytes; 0 or less: it failed, which says nothing. */
void window_end(struct window *window, struct window_thread *thread, const struct window_read *read, int64_t now,
		int64_t result);
/* Counts a read as under way no longer, as its member does not answer and others are not to wait for it. */
void window_drop(struct window *window, enum window_class class, struct window_thread *thread);

/* Returns the ns after which a read of bytes that is under way is late; INT64_MAX: not known, or none may be made again
 * now. */
int64_t window_late(const struct window *window, uint64_t bytes);
/* Takes one of the late reads that may be made again. False: there is none, as it would be more than one of
 * WINDOW_BUDGET, or the window has just shrunk. */
bool window_hedge(struct window *window);
/* Counts a read that was made again and came before the late one. */
void window_won(struct window *window);
