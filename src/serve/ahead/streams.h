/* SPDX-License-Identifier: MIT */
/* What is ahead of each walker: a range of ordinals that grows as he goes on, a leg at a time, and stops when he does.
 *
 * The first file of each leg is not stored but kept, so that its READ comes and tells where the walker is while the
 * legs behind it are already there. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fetcher;
struct generation;
struct streams;

must_check int streams_new(struct fetcher *fetcher, struct streams **ret, struct error *err);
void streams_free(struct streams *streams);

/* Any thread; a few loads. Whether one stream has both files in its range, which begins where it did. */
bool streams_cover(const struct streams *streams, uint64_t key, uint64_t last, uint64_t ordinal);
/* A walker reads this file: goes on with its stream, or begins one. Any thread, in a section; never waits. */
void streams_walk(struct streams *streams, struct generation *generation, uint64_t ordinal);
