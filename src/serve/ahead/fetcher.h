/* SPDX-License-Identifier: MIT */
/* A thread that reads files before they are asked for, with large reads of the device, and verifies them. Small files
 * are stored into the kernel's page cache; larger ones, and files whose nodes the kernel does not know yet, are kept
 * for their READ. A file that cannot be read or is damaged is left to its READ, which meets the error again and reports
 * it.
 *
 * Callers post jobs. Limits are the number of queued jobs, the bytes kept, and the memory that the machine and the
 * daemon's control groups have left; files that do not fit are not read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/kept.h"

struct counters;
struct fetcher;
struct generation;
struct serve;

#define FETCHER_JOBS       2048u /* limit of jobs in the queue */
#define FETCHER_SLOTS_MOST 16u   /* limit of reads at a time */

/* Files to be read. The caller makes it, zeroed; the fetcher owns it from a successful fetcher_post() until done(). */
struct fetcher_job {
	struct generation *generation;
	/* In any order, as the fetcher sorts them. Nodes that are no file, empty files, and files larger than one READ
	 * are skipped. */
	uint64_t *ordinals;
	uint32_t count; /* number of ordinals, PICK_FILES at most */
	/* The reader's place, NULL if unknown: files up to there, and a few more, are skipped. It must live as long as
	 * the fetcher. */
	const _Atomic uint64_t *reader_at;
	uint32_t owner; /* user for whom the files are kept, see kept_bytes_of() */
	uint64_t marker; /* ordinal of a file that is not stored, so that its READ shows the reader's place; 0: none */
	/* Called exactly once, on the fetcher's thread. Must not wait. */
	void (*done)(struct fetcher_job *job);
	/* Result for the caller, in done(): */
	uint32_t fetched, stored; /* files read; files of these that were stored */
	uint64_t bytes;           /* bytes read */
	/* Fetcher only: */
	bool is_sorted;
	uint32_t next_file;
	unsigned pending;
	struct fetcher_job *next;
};

/* Starts a thread that reads the volume and stores through serve->mount_fd. most: limit of bytes kept; slots: reads at
 * a time, each of up to READ_RANGES places on the device. All workers must exist. */
must_check int fetcher_start(struct serve *serve, uint64_t most, unsigned slots, struct fetcher **ret,
			     struct error *err);
/* Ends all jobs and the thread. Call it while the workers serve, as a store may wait for them, or when the filesystem
 * is unmounted. NULL and a second call are allowed. False: the device holds the thread, which is left behind and may
 * use all of serve until the process ends. */
bool fetcher_stop(struct fetcher *fetcher);
/* Frees it after fetcher_stop(), or does nothing if the thread was left behind. NULL is allowed. */
void fetcher_free(struct fetcher *fetcher);

/* Queues a job, without waiting. False: there is no room, or the device fails; the job stays the caller's. Any thread
 * may call this, inside a section (serve/version/generations.h). */
must_check bool fetcher_post(struct fetcher *fetcher, struct fetcher_job *job);
/* Has kept files behind this one stored: a READ found it among the kept files, so the kernel knows its directory now.
 * Any thread may call this, inside a section; it does not wait. */
void fetcher_again(struct fetcher *fetcher, struct generation *generation, uint64_t ordinal);
/* The cache of files that were read ahead, for READs. */
struct kept *fetcher_kept(const struct fetcher *fetcher);
/* Bytes that may be ahead of all readers: `most`, or less if memory is short. Any thread may call this. */
uint64_t fetcher_budget(const struct fetcher *fetcher);
/* Counters of the thread. */
const struct counters *fetcher_counters(const struct fetcher *fetcher);
/* Has the thread drop files that were kept for too long. The watchdog calls it once a second; any thread may. */
void fetcher_tick(struct fetcher *fetcher);
/* Has the thread register the volume's descriptors again, as one leads elsewhere. Any thread may call this. */
void fetcher_renew(struct fetcher *fetcher);
/* Has the thread leave reads that are stuck at a member which does not answer, so that READs that wait for their files
 * read them elsewhere. Any thread may call this. */
void fetcher_leave(struct fetcher *fetcher);
