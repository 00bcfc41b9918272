/* SPDX-License-Identifier: MIT */
/* Reads the affinity mask and the kernel's lists of CPUs. */
#include "serve/worker/cpus.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS_LIST 4096u /* bytes of a list of CPUs; sysfs gives a page at most */

unsigned cpus_parse(const char *list, bool *set)
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
		if (set)
			memset(set + first, true, last - first + 1);
		if (*list != ',')
			return *list == 0 || *list == '\n' ? count : 0;
	}
}

static unsigned cpus_read(const char *path, bool *set)
{
	FILE *file = fopen(path, "re");
	char list[CPUS_LIST];
	bool there = file && fgets(list, sizeof(list), file);

	if (file)
		fclose(file);
	return there ? cpus_parse(list, set) : 0;
}

/* If the kernel does not list the online CPUs, all count as online. */
static void cpus_read_queues(struct cpus *cpus)
{
	cpus->possible = cpus_read("/sys/devices/system/cpu/possible", NULL);
	if (!cpus_read("/sys/devices/system/cpu/online", cpus->online))
		memset(cpus->online, true, CPUS_MAX);
}

int cpus_find(unsigned most, struct cpus *ret, struct error *err)
{
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	struct cpus cpus = { .own = calloc(CPUS_MAX, sizeof(*cpus.own)), .online = calloc(CPUS_MAX, 1) };

	if (!set || !cpus.own || !cpus.online || sched_getaffinity(0, size, set) < 0) {
		cpus_free(&cpus);
		CPU_FREE(set);
		return error_errno(err, "cannot determine which CPUs there are");
	}
	for (unsigned cpu = 0; cpu < CPUS_MAX && (!most || cpus.workers < most); cpu++)
		if (CPU_ISSET_S(cpu, size, set))
			cpus.own[cpus.workers++] = (uint16_t)cpu;
	CPU_FREE(set);
	cpus_read_queues(&cpus);
	*ret = cpus;
	return 0;
}

void cpus_free(struct cpus *cpus)
{
	free(cpus->own);
	free(cpus->online);
	*cpus = (struct cpus){ 0 };
}

static bool cpus_has_worker(const struct cpus *cpus, unsigned cpu)
{
	for (unsigned i = 0; i < cpus->workers; i++)
		if (cpus->own[i] == cpu)
			return true;
	return false;
}

/* If CPU numbers have gaps, the highest CPUs have no queue, as queues are numbered without gaps. */
static bool cpus_has_queue(const struct cpus *cpus, unsigned worker)
{
	return cpus->own[worker] < cpus->possible;
}

/* The worker's turn to adopt a queue: workers without a queue of their own come first. */
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

static unsigned cpus_online(const struct cpus *cpus)
{
	unsigned count = 0;

	for (unsigned queue = 0; queue < cpus->possible; queue++)
		count += cpus->online[queue];
	return count;
}

void cpus_share(struct cpus *cpus, uint64_t entries)
{
	unsigned online = cpus_online(cpus);
	uint64_t each = online ? entries / online : 0;

	cpus->depth = each < CPUS_DEPTH_MIN ? CPUS_DEPTH_MIN : each > CPUS_DEPTH_MAX ? CPUS_DEPTH_MAX : (unsigned)each;
}

unsigned cpus_depth(const struct cpus *cpus, unsigned queue)
{
	return cpus->online[queue] ? cpus->depth : CPUS_DEPTH_MIN;
}

unsigned cpus_depth_least(const struct cpus *cpus)
{
	return cpus_online(cpus) == cpus->possible ? cpus->depth : CPUS_DEPTH_MIN;
}

uint64_t cpus_entries(const struct cpus *cpus)
{
	unsigned online = cpus_online(cpus);

	return (uint64_t)online * cpus->depth + (uint64_t)(cpus->possible - online) * CPUS_DEPTH_MIN;
}
