/* SPDX-License-Identifier: MIT */
/* Compares a moving average with two thresholds, so that a steady load does not move the thread back and forth. */
#include "serve/worker/placement.h"

#include <errno.h>
#include <pthread.h>

#include "serve/worker/cpus.h"

#define PLACEMENT_UNIT 256u                 /* one completion in `mean` */
#define PLACEMENT_LOOK 16u                  /* waits that the average spans */
#define PLACEMENT_PIN  (3 * PLACEMENT_UNIT)
#define PLACEMENT_FREE (2 * PLACEMENT_UNIT)

int placement_start(struct placement *placement, int cpu, struct error *err)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);

	*placement = (struct placement){ .size = size };
	if (cpu < 0)
		return 0;
	placement->own = CPU_ALLOC(CPUS_MAX);
	placement->all = CPU_ALLOC(CPUS_MAX);
	if (!placement->own || !placement->all)
		return error_no_memory(err);
	CPU_ZERO_S(size, placement->own);
	CPU_SET_S((unsigned)cpu, size, placement->own);
	if (sched_getaffinity(0, size, placement->all) < 0)
		return error_errno(err, "cannot determine which CPUs there are");
	return 0;
}

void placement_update(struct placement *placement, unsigned completions)
{
	bool pin;

	if (!placement->own)
		return;
	placement->mean += completions * PLACEMENT_UNIT / PLACEMENT_LOOK - placement->mean / PLACEMENT_LOOK;
	pin = placement->pinned ? placement->mean > PLACEMENT_FREE : placement->mean >= PLACEMENT_PIN;
	if (pin == placement->pinned)
		return;
	placement->pinned = pin;
	/* A failure, as when the CPU went offline, costs only speed. */
	(void)pthread_setaffinity_np(pthread_self(), placement->size, pin ? placement->own : placement->all);
}

void placement_end(struct placement *placement)
{
	CPU_FREE(placement->own);
	CPU_FREE(placement->all);
}
