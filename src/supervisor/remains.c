/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/task/TID/stat, see proc_pid_stat(5). SIGKILL wakes each thread in an interruptible sleep, so a thread
 * that still sleeps is on its way out, or cannot be woken. */
#include "supervisor/remains.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define REMAINS_FIRST INT64_C(10000000)   /* ns between two looks at a process, at first */
#define REMAINS_LAST  INT64_C(1000000000) /* and when it has been there for long */
#define REMAINS_SLOWS 8                   /* in between they are this part of its age */

enum remains_state { REMAINS_OVER, REMAINS_ASLEEP, REMAINS_AWAKE };

static enum remains_state remains_thread(pid_t process, const char *thread)
{
	char path[64], text[256], *at;
	auto_fclose FILE *file = NULL;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)process, thread);
	file = fopen(path, "re");
	if (!file)
		return REMAINS_OVER;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	at = strrchr(text, ')'); /* of the name, which may have any characters */
	if (!at || !at[1] || strchr("ZX", at[2]))
		return REMAINS_OVER;
	return strchr("DSI", at[2]) ? REMAINS_ASLEEP : REMAINS_AWAKE;
}

/* Returns how many threads are left if all of them sleep. 0: one is awake, or there is none. */
static unsigned remains_asleep(pid_t process)
{
	enum remains_state state = REMAINS_OVER;
	const struct dirent *entry;
	unsigned count = 0;
	char path[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (state != REMAINS_AWAKE && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		state = remains_thread(process, entry->d_name);
		count += state == REMAINS_ASLEEP;
	}
	closedir(folder);
	return state == REMAINS_AWAKE ? 0 : count;
}

int remains_add(struct remains *remains, pid_t process, bool holds_requests, struct error *err)
{
	int r = grow_one(remains->items, remains->count, err);

	if (r < 0)
		return r;
	remains->items[remains->count++] = (struct remains_one){ .process = process, .holds_requests = holds_requests };
	return 0;
}

bool remains_end(struct remains *remains, pid_t process)
{
	for (size_t i = 0; i < remains->count; i++) {
		if (remains->items[i].process != process)
			continue;
		remains->items[i] = remains->items[--remains->count];
		return true;
	}
	return false;
}

static void remains_plan(struct remains_one *one, int64_t now)
{
	int64_t pause;

	if (!one->since)
		one->since = now;
	pause = (now - one->since) / REMAINS_SLOWS;
	one->look_at = now + (pause < REMAINS_FIRST ? REMAINS_FIRST : pause > REMAINS_LAST ? REMAINS_LAST : pause);
}

/* True if the kernel should be asked again for what this process has taken. */
static bool remains_look_at(struct remains_one *one, int64_t now)
{
	unsigned threads;

	remains_plan(one, now);
	threads = remains_asleep(one->process);
	if (!threads || (one->threads && threads >= one->threads))
		return false;
	one->threads = threads;
	return true;
}

pid_t remains_look(struct remains *remains, int64_t now)
{
	for (size_t i = 0; i < remains->count; i++)
		if (remains->items[i].look_at <= now && remains_look_at(&remains->items[i], now))
			return remains->items[i].process;
	return 0;
}

const struct remains_one *remains_stay(struct remains *remains, int64_t age, int64_t now)
{
	for (size_t i = 0; i < remains->count; i++) {
		struct remains_one *one = &remains->items[i];

		if (one->is_told || !one->since || now - one->since < age)
			continue;
		one->is_told = true;
		return one;
	}
	return NULL;
}

int64_t remains_next(const struct remains *remains)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < remains->count; i++)
		if (remains->items[i].look_at < next)
			next = remains->items[i].look_at;
	return next;
}

void remains_free(struct remains *remains)
{
	free(remains->items);
	*remains = (struct remains){ 0 };
}
