/* SPDX-License-Identifier: MIT */
/* A thread that reads files before they are asked for, with large reads of the device, and verifies them. Small files
 * are stored into the kernel's page cache; larger ones, and files whose nodes the kernel does not know yet, are kept
 * for their READ. A file that cannot be read or is damaged is left to its READ, which meets the error again and reports
 * it.
 *
 * Callers post jobs, or are asked for them. Limits are the number of queued jobs, the bytes kept, and the memory that
 * the machine and the daemon's control groups have left; files that do not fit are not read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/readahead/kept.h"

struct counters;
struct fetcher;
struct generation;
struct serve;

#define FETCHER_JOBS       2048u /* limit of jobs in the queue */
#define FETCHER_SLOTS_MOST 16u   /* limit of reads in flight */

/* Files to be read. The caller makes it, zeroed; the fetcher owns it from a successful fetcher_post() until done(). */
struct fetcher_job {
	struct generation *generation;
	/* In any order, as the fetcher sorts them. Inodes that are not regular files, empty files, and files larger
	 * than one READ are skipped. */
	uint64_t *ordinals;
	uint32_t count; /* number of ordinals, PICK_FILES at most */
	/* Ordinal of the file that the reader has reached; NULL: unknown. Files up to it, and a few more, are skipped.
	 * The pointer must stay valid as long as the fetcher. */
	const _Atomic uint64_t *reader_at;
	struct kept_account *account; /* of the user for whom the files are kept; NULL: there are no shares */
	uint64_t marker; /* ordinal of a file that is not stored, so that its READ shows the reader's place; 0: none */
	/* Called exactly once, on the fetcher's thread. Must not wait. */
	void (*done)(struct fetcher_job *job);
	/* Result for the caller, in done(): */
	uint32_t fetched, stored; /* files read, and how many of them were stored */
	uint64_t bytes;           /* bytes read */
	/* Fetcher only: */
	bool is_sorted;
	uint32_t next_file;
	unsigned pending;
	struct fetcher_job *next;
};

struct fetcher_setup {
	uint64_t most;  /* limit of bytes kept */
	bool keeps;     /* the bytes that are read go into the cache on this machine, too */
	unsigned slots; /* limit of reads in flight, each of up to READ_RANGES places on the device */
	/* Returns a job when the queue has none and another read could begin, whose version the caller has pinned for
	 * the job. NULL: there is none now, see fetcher_wake(). It is called on the fetcher's thread and must not wait.
	 * NULL: all jobs are posted. */
	struct fetcher_job *(*next)(void *owner);
	void *owner;
};

/* Starts a thread that reads the volume and stores through serve->mount_fd. All workers must exist. */
must_check int fetcher_start(struct serve *serve, const struct fetcher_setup *setup, struct fetcher **ret,
			     struct error *err);
/* Ends all jobs and the thread. Call it while the workers serve, as a store may wait for them, or after the unmount.
 * NULL and a second call are allowed. False: the thread is stuck in the device; it was left running and may use all of
 * serve until the process ends. */
bool fetcher_stop(struct fetcher *fetcher);
/* Frees the fetcher, after fetcher_stop(). Does nothing if the thread was left running. NULL is allowed. */
void fetcher_free(struct fetcher *fetcher);

/* Queues a job, without waiting. False: there is no room, or reads of the device have been failing; the caller keeps
 * the job. Any thread may call this, inside a section (serve/version/generations.h). */
must_check bool fetcher_post(struct fetcher *fetcher, struct fetcher_job *job);
/* Has the thread ask for jobs, see fetcher_setup. Any thread may call this. */
void fetcher_wake(struct fetcher *fetcher);
/* Whether jobs can be carried out now; false: reads of the device have been failing, or there is no memory. */
bool fetcher_may_read(const struct fetcher *fetcher);
/* Has the thread try again to store the kept files after this one. They could not be stored while the kernel did not
 * know their directory; a READ of this file shows that it does now. Any thread may call this, inside a section; it does
 * not wait. */
void fetcher_again(struct fetcher *fetcher, struct generation *generation, uint64_t ordinal);
/* The cache of files that were read ahead, for READs. */
struct kept *fetcher_kept(const struct fetcher *fetcher);
/* The bytes that may be kept now for all readers together: `most` of fetcher_start(), or less if memory is short. Any
 * thread may call this. */
uint64_t fetcher_budget(const struct fetcher *fetcher);
/* Counters of the thread. */
const struct counters *fetcher_counters(const struct fetcher *fetcher);
/* Has the thread drop files that were kept for too long. The watchdog calls it once a second; any thread may. */
void fetcher_tick(struct fetcher *fetcher);
/* Has the thread register the volume's descriptors again, because one now refers to another device or file. Any thread
 * may call this. */
void fetcher_renew(struct fetcher *fetcher);
/* Has the thread give up reads that are stuck at a member that does not answer. READs that wait for their files then
 * read from another member. Any thread may call this. */
void fetcher_leave(struct fetcher *fetcher);
