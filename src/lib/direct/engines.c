/* SPDX-License-Identifier: MIT */
/* Tries a ring first: containers and limits may refuse io_uring, and limits also threads. */
#include "lib/direct/engines.h"

#include <stddef.h>

#define ENGINES_THREADS 8u /* of a pool, as many threads of a program may have one each */

struct engine *engines_make_many(const struct engine_setup *setup, bool has_ring)
{
	struct engine_setup pool = *setup;
	struct engine *engine;

	if (has_ring && ring_new(setup, &engine, NULL) == 0)
		return engine;
	if (pool.depth > ENGINES_THREADS)
		pool.depth = ENGINES_THREADS;
	return pool_new(&pool, &engine, NULL) == 0 ? engine : NULL;
}
