/* SPDX-License-Identifier: MIT */
/* Divides reads that a cache on this machine may answer between the cache and the volume. It uses no device and no
 * clock: times are passed in, in ns of any monotonic clock, so a simulation runs the same code.
 *
 * The cache is asked first, as no other machine waits for this drive, until its reads take so long that part of
 * them is better made by the volume: then only so many are under way there at a time. That number shrinks by a quarter
 * in a round trip in which reads are slow, and grows a little with each other one. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "read/route.h"

#define BALANCE_SLOW  INT64_C(4000000) /* ns: reads that take less are never slow */
#define BALANCE_TIMES 4                /* how many times longer than a read of the volume one of the cache may take */

enum cache_balance_place { BALANCE_VOLUME, BALANCE_CACHE, BALANCE_PLACES };

/* Shared by all readers of a volume. */
struct cache_balance {
	struct route *route;     /* of these two: how long reads take, told by route_begin() and route_end() */
	_Atomic uint32_t most;   /* reads of the cache under way, in BALANCE_READ; BALANCE_ANY: there is no limit */
	_Atomic uint32_t slows;  /* 1 for a slow read, less 4 for each other one */
	_Atomic uint32_t peak;   /* most reads under way while there is no limit and some are slow */
	_Atomic uint32_t others; /* reads that were not slow since the limit last shrank */
	_Atomic uint32_t turn;
	_Atomic int64_t shrunk;  /* reads that began before this time do not shrink it again */
};

must_check int cache_balance_open(struct cache_balance *balance, struct error *err);
void cache_balance_close(struct cache_balance *balance);

/* Whether a read that the cache may answer goes there now. */
bool cache_balance_takes(struct cache_balance *balance, int64_t now);
/* True: reads of the cache do not come back, or fail. */
bool cache_balance_is_suspect(const struct cache_balance *balance, int64_t now);
/* Returns the ns after which a read of the cache is slow. */
int64_t cache_balance_limit(const struct cache_balance *balance, int64_t now);
/* A read of the cache has ended, which was slow or not, after route_end(). */
void cache_balance_learn(struct cache_balance *balance, bool was_slow, int64_t begun, int64_t now);
