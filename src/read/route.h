/* SPDX-License-Identifier: MIT */
/* Chooses which copy to read, by the reads in flight on each member and its speed. It uses no device and no clock:
 * times are passed in, in ns of any monotonic clock, so a simulation runs the same code. All readers of a volume
 * share one route; a choice looks at a few words per copy, without a lock. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ROUTE_SILENCE  INT64_C(100000000)  /* least ns without progress after which a member is suspect */
#define ROUTE_SLOWER   8                   /* the least silence of a suspect member, too, in base latencies */
#define ROUTE_FADE     INT64_C(100000000)  /* ns in which a high latency fades to the base, for another try */
#define ROUTE_FADES    512                 /* a latency fades no faster than in this many reads, so tries stay rare */
#define ROUTE_FAILURES 3u                  /* consecutive failures that make a member suspect */
#define ROUTE_PROBE    INT64_C(1000000000) /* ns between two test reads of a suspect member */

struct route_member {
	_Atomic uint32_t under_way;
	_Atomic uint32_t failures;  /* since the last read that succeeded */
	_Atomic int64_t latency;    /* ns, rises at once and fades; base: of a read that waited for no other */
	_Atomic int64_t base;
	_Atomic int64_t progress;   /* when the last read ended, or the first of those in flight began */
	_Atomic uint64_t passed;    /* route.ended at that time */
	_Atomic int64_t probed;     /* when the member was last tried while suspect */
	_Atomic uint64_t reads, bytes, errors; /* totals of reads that ended */
};

struct route {
	uint32_t count;
	_Atomic uint64_t ended; /* reads of all members */
	struct route_member members[];
};

must_check int route_new(uint32_t count, struct route **ret, struct error *err);
void route_free(struct route *route); /* NULL does nothing */

/* Chooses one of these members to read from; returns its index in the list. */
uint32_t route_choose(struct route *route, const uint32_t *members, uint32_t count, int64_t now);
/* Whether a member that is suspect may be read once now, to test whether it is well again. */
bool route_probes(struct route *route, uint32_t member, int64_t now);
/* route_begin() counts a read of a member that begins, and route_end() one that has ended. begun: when it began.
 * result: bytes; 0 or less: it failed. */
void route_begin(struct route *route, uint32_t member, int64_t now);
void route_end(struct route *route, uint32_t member, int64_t begun, int64_t now, int64_t result);
/* Returns for how many ns no read of the member has come back while some are in flight; 0: none is in flight. */
int64_t route_silence(const struct route *route, uint32_t member, int64_t now);
/* Returns the ns that a read of the member is expected to take now. */
int64_t route_latency(const struct route *route, uint32_t member, int64_t now);
/* True if the member has been silent for long with reads in flight, or keeps failing. */
bool route_is_suspect(const struct route *route, uint32_t member, int64_t now);
