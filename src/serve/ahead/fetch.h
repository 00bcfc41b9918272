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
struct fetch;
struct generation;
struct serve;

#define FETCH_JOBS 256u /* in the queue */

/* Files to be read. Made by its giver, zeroed; the fetch's from a fetch_post() that said true until done(). */
struct fetch_job {
	struct generation *generation;
	uint64_t *ordinals; /* in the order in which they lie on the volume: ascending. What is no file, is empty or larger
			     * than one READ is passed over */
	uint32_t count;
	uint64_t marker; /* this file is not stored, so that its READ comes and says how far the reader is; 0: none */
	/* Exactly once, on the fetch's thread, or on that of fetch_stop(). Must not wait. */
	void (*done)(struct fetch_job *job);
	/* For its giver, when it is done: */
	uint32_t fetched, stored; /* files, stored ones are among the fetched */
	uint64_t bytes;           /* of the fetched */
	/* The fetch's: */
	uint32_t next_file;
	unsigned pending;
	struct fetch_job *next;
};

/* most: bytes that are kept at most. It serves serve->volume and serve->mount_fd. */
must_check int fetch_start(struct serve *serve, uint64_t most, struct fetch **ret, struct error *err);
/* Takes no more jobs and ends those that it has. NULL too, and once more. While the workers serve, as a store may wait
 * for them, or when the filesystem is unmounted. False: the device holds its thread back, which is left behind and may
 * look at all of serve until the process ends. */
bool fetch_stop(struct fetch *fetch);
/* When it has stopped, and nothing when it was left behind. */
void fetch_free(struct fetch *fetch);

/* Any thread, inside a section (serve/version/generations.h). Never waits. False: there is no room, or the device
 * fails; the job stays its giver's. */
must_check bool fetch_post(struct fetch *fetch, struct fetch_job *job);
/* What has been kept; for READs. */
struct kept *fetch_kept(const struct fetch *fetch);
/* How many bytes may be ahead of all readers together: what was asked for, or less where memory is short. Any thread. */
uint64_t fetch_budget(const struct fetch *fetch);
const struct counters *fetch_counters(const struct fetch *fetch);
/* Once a second, any thread: drops what was kept for too long. */
void fetch_tick(struct fetch *fetch);
/* The volume's descriptor leads elsewhere. */
void fetch_renew(struct fetch *fetch);
