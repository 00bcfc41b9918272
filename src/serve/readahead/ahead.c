/* SPDX-License-Identifier: MIT */
/* Puts the parts together: a READ tells where its thread is (walkers), a walker has a stream, a stream makes jobs
 * (fetcher), and the files that they read are stored into the page cache or kept. */
#include "serve/readahead/ahead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/readahead/streams.h"
#include "serve/readahead/walkers.h"
#include "serve/serve.h"

#define AHEAD_SLOTS 4u /* reads at a time: a walker needs few, each with many files */

struct ahead {
	struct walkers walkers;
	struct fetcher *fetcher;
	struct kept *kept;
	struct streams *streams;
};

int ahead_start(struct serve *serve, struct error *err)
{
	const struct fetcher_setup setup = { .most = serve->options.ahead, .slots = AHEAD_SLOTS };
	struct ahead *ahead;
	int r;

	if (!serve->options.ahead)
		return 0;
	ahead = aligned_alloc(_Alignof(struct ahead), sizeof(*ahead));
	if (!ahead)
		return error_no_memory(err);
	memset(ahead, 0, sizeof(*ahead));
	serve->ahead = ahead;
	r = fetcher_start(serve, &setup, &ahead->fetcher, err);
	if (r < 0)
		return r;
	ahead->kept = fetcher_kept(ahead->fetcher);
	return streams_new(ahead->fetcher, &ahead->streams, err);
}

bool ahead_stop(struct ahead *ahead)
{
	return !ahead || fetcher_stop(ahead->fetcher);
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead)
		return;
	fetcher_free(ahead->fetcher);
	streams_free(ahead->streams);
	free(ahead);
}

struct fetcher *ahead_fetcher(const struct ahead *ahead)
{
	return ahead ? ahead->fetcher : NULL;
}

void ahead_read(struct ahead *ahead, struct generation *generation, uint32_t thread, uint64_t ordinal)
{
	struct walkers_place place;
	bool in_order;

	if (!ahead)
		return;
	walkers_look(&ahead->walkers, thread, generation->key, ordinal, &place);
	/* Files in between that were stored cause no READ. */
	in_order = walkers_is_next(place.ordinal, ordinal) ||
		   streams_cover(ahead->streams, generation->key, place.ordinal, ordinal);
	if (walkers_step(&place, ordinal, in_order))
		streams_walk(ahead->streams, generation, ordinal);
}

enum kept_found ahead_take(struct ahead *ahead, const struct kept_range *range, struct kept_waiter *waiter,
			   struct kept_piece *ret)
{
	return ahead ? kept_take(ahead->kept, range, waiter, ret) : KEPT_NONE;
}

void ahead_release(struct ahead *ahead, struct generation *generation, const struct kept_piece *piece)
{
	uint64_t ordinal = piece->file->ordinal;
	bool is_marker = piece->file->is_marker;

	kept_release(ahead->kept, piece);
	if (!is_marker)
		fetcher_again(ahead->fetcher, generation, ordinal);
}
