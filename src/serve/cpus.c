/* SPDX-License-Identifier: MIT */
/* The affinity mask and the kernel's list of possible CPUs. */
#include "serve/cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

unsigned cpus_count(const char *list)
{
	unsigned count = 0, first, last;
	int length;

	for (;; list++) {
		if (sscanf(list, "%u%n", &first, &length) != 1 || first >= CPUS_MAX)
			return 0;
		list += length;
		last = first;
		if (sscanf(list, "-%u%n", &last, &length) == 1)
			list += length;
		if (last < first || last >= CPUS_MAX)
			return 0;
		count += last - first + 1;
		if (*list != ',')
			return *list == 0 || *list == '\n' ? count : 0;
	}
}

static unsigned cpus_possible(void)
{
	FILE *file = fopen("/sys/devices/system/cpu/possible", "re");
	char list[4096]; /* a page is all that sysfs gives */
	bool there = file && fgets(list, sizeof(list), file);

	if (file)
		fclose(file);
	return there ? cpus_count(list) : 0;
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

/* Where CPU numbers have gaps the last ones are beyond the queues. */
static bool cpus_has_queue(const struct cpus *cpus, unsigned worker)
{
	return cpus->own[worker] < cpus->possible;
}

/* When the worker is to adopt: those without a queue of their own before the others. */
static unsigned cpus_turn(const struct cpus *cpus, unsigned worker)
{
	bool has_queue = cpus_has_queue(cpus, worker);
	unsigned turn = 0;

	for (unsigned i = 0; i < cpus->workers; i++)
		if (cpus_has_queue(cpus, i) == has_queue ? i < worker : has_queue)
			turn++;
	return turn;
}

unsigned cpus_queues(const struct cpus *cpus, unsigned worker, uint16_t *numbers)
{
	unsigned count = 0, orphans = 0, turn = cpus_turn(cpus, worker);

	if (cpus_has_queue(cpus, worker))
		numbers[count++] = cpus->own[worker];
	for (unsigned queue = 0; queue < cpus->possible; queue++)
		if (!cpus_has_worker(cpus, queue) && orphans++ % cpus->workers == turn)
			numbers[count++] = (uint16_t)queue;
	return count;
}
