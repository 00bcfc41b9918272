/* SPDX-License-Identifier: MIT */
/* The affinity mask and the kernel's list of possible CPUs. */
#include "serve/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* "0-7" or "0,2-5": one more than the last number, as queues are numbered by CPU. */
static unsigned cpus_possible(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	unsigned last = 0, n;
	int c;

	if (!file)
		return 0;
	while (fscanf(file, "%u", &n) == 1) {
		last = n;
		c = fgetc(file); /* '-' or ',' */
		if (c == EOF || c == '\n')
			break;
	}
	fclose(file);
	return last < CPUS_MAX ? last + 1 : 0;
}

int cpus_find(unsigned most, struct cpus *ret, struct error *err)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	struct cpus cpus = { .own = calloc(CPUS_MAX, sizeof(*cpus.own)) };

	if (!set || !cpus.own || sched_getaffinity(0, size, set) < 0) {
		free(cpus.own);
		CPU_FREE(set);
		return error_errno(err, "cannot tell which CPUs there are");
	}
	for (unsigned cpu = 0; cpu < CPUS_MAX && (!most || cpus.workers < most); cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			cpus.own[cpus.workers++] = (uint16_t)cpu;
	CPU_FREE(set);
	cpus.possible = cpus_possible();
	*ret = cpus;
	return 0;
}

void cpus_free(struct cpus *cpus)
{
	free(cpus->own);
	*cpus = (struct cpus){ 0 };
}

static bool cpus_has_worker(const struct cpus *cpus, unsigned cpu)
{
	for (unsigned i = 0; i < cpus->workers; i++)
		if (cpus->own[i] == cpu)
			return true;
	return false;
}

unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers)
{
	unsigned count = 0, orphans = 0;

	numbers[count++] = cpus->own[worker];
	for (unsigned cpu = 0; cpu < cpus->possible; cpu++)
		if (!cpus_has_worker(cpus, cpu) && orphans++ % cpus->workers == worker)
			numbers[count++] = (uint16_t)cpu;
	return count;
}
