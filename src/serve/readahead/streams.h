/* SPDX-License-Identifier: MIT */
/* The streams of files ahead of walkers: each is a range of ordinals that grows a leg at a time while its walker goes
 * on, and stops when the walker does.
 *
 * The first file of each leg is kept and not stored, so that its READ shows where the walker is while the next legs
 * have been read already. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct fetcher;
struct generation;
struct streams;

/* Makes an empty table of streams, which post their jobs to the fetcher. */
must_check int streams_new(struct fetcher *fetcher, struct streams **ret, struct error *err);
void streams_free(struct streams *streams);

/* Whether one stream has both files in its range, `last` before `ordinal`. Costs a few loads. Any thread may call
 * this. */
bool streams_cover(const struct streams *streams, uint64_t key, uint64_t last, uint64_t ordinal);
/* Notes that a walker reads this file: extends its stream, or begins one. It never waits. Any thread may call this, in
 * a section. */
void streams_walk(struct streams *streams, struct generation *generation, uint64_t ordinal);
