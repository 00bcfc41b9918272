/* SPDX-License-Identifier: MIT */
/* Visits the fetchers that there are. */
#include "serve/readahead/fetchers.h"

#include "serve/readahead/ahead.h"
#include "serve/readahead/announced.h"

void fetchers_each(const struct serve *serve, void (*visit)(struct fetcher *fetcher))
{
	if (serve->ahead)
		visit(ahead_fetcher(serve->ahead));
	if (serve->announced)
		visit(announced_fetcher(serve->announced));
}

void fetchers_tick(const struct serve *serve)
{
	fetchers_each(serve, fetcher_tick);
	announced_tick(serve->announced);
}

bool fetchers_stop(struct serve *serve)
{
	bool has_ended = ahead_stop(serve->ahead);

	return announced_stop(serve->announced) && has_ended;
}

void fetchers_free(struct serve *serve)
{
	ahead_free(serve->ahead);
	announced_free(serve->announced);
}
