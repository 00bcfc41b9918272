/* SPDX-License-Identifier: MIT */
/* Reads files that will be asked for, with large reads of the device, by a thread of its own: verified, small ones are
 * stored into the kernel's page cache, the others and those whose nodes the kernel does not know yet are kept for their
 * READ. What cannot be read or is damaged is left to the READ, which finds it again and reports it.
 *
 * Whoever knows what comes makes a job. It is bounded by jobs in the queue, by the bytes that are kept, and by what the
 * machine and the daemon's control groups have left; what does not fit is not read. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "serve/ahead/kept.h"

struct counters;
struct fetcher;
struct generation;
struct serve;

#define FETCHER_JOBS       2048u /* in the queue */
#define FETCHER_SLOTS_MOST 16u   /* reads at a time */

/* Files to be read. Made by its giver, zeroed; the fetcher's from a fetcher_post() that said true until done(). */
struct fetcher_job {
	struct generation *generation;
	/* In any order; the fetcher sorts them. What is no file, is empty or larger than one READ is passed over. */
	uint64_t *ordinals;
	uint32_t count; /* GATHER_FILES at most */
	/* Where its reader is, if that is known, else NULL: files up to there, and a few more, are passed over. As
	 * long as the fetcher lives. */
	const _Atomic uint64_t *reader_at;
	uint32_t owner; /* the user for whom it is kept, see kept_bytes_of() */
	uint64_t marker; /* this file is not stored, so that its READ comes and says how far the reader is; 0: none */
	/* Exactly once, on the fetcher's thread, or on that of fetcher_stop(). Must not wait. */
	void (*done)(struct fetcher_job *job);
	/* For its giver, when it is done: */
	uint32_t fetched, stored; /* files, stored ones are among the fetched */
	uint64_t bytes;           /* of the fetched */
	/* The fetcher's: */
	bool is_sorted;
	uint32_t next_file;
	unsigned pending;
	struct fetcher_job *next;
};

/* most: bytes that are kept at most; slots: reads at a time, each of up to READ_RANGES places on the device. It serves
 * serve->volume and serve->mount_fd. All workers exist. */
must_check int fetcher_start(struct serve *serve, uint64_t most, unsigned slots, struct fetcher **ret,
			     struct error *err);
/* Takes no more jobs and ends those that it has. NULL too, and once more. While the workers serve, as a store may wait
 * for them, or when the filesystem is unmounted. False: the device holds its thread back, which is left behind and may
 * look at all of serve until the process ends. */
bool fetcher_stop(struct fetcher *fetcher);
/* When it has stopped, and nothing when it was left behind. */
void fetcher_free(struct fetcher *fetcher);

/* Any thread, inside a section (serve/version/generations.h). Never waits. False: there is no room, or the device
 * fails; the job stays its giver's. */
must_check bool fetcher_post(struct fetcher *fetcher, struct fetcher_job *job);
/* A READ found this file among those that are kept, so the kernel knows its directory: what else is kept of it can be
 * stored. As fetcher_post(). */
void fetcher_again(struct fetcher *fetcher, struct generation *generation, uint64_t ordinal);
/* What has been kept; for READs. */
struct kept *fetcher_kept(const struct fetcher *fetcher);
/* How many bytes may be ahead of all readers: what was asked for, or less where memory is short. Any thread. */
uint64_t fetcher_budget(const struct fetcher *fetcher);
const struct counters *fetcher_counters(const struct fetcher *fetcher);
/* Once a second, any thread: drops what was kept for too long. */
void fetcher_tick(struct fetcher *fetcher);
/* The volume's descriptor leads elsewhere. */
void fetcher_renew(struct fetcher *fetcher);
/* A member does not answer: READs that wait for what is being read there go elsewhere. Any thread. */
void fetcher_leave(struct fetcher *fetcher);
