/* SPDX-License-Identifier: MIT */
/* Reads /proc/PID/task/TID/stat, see proc_pid_stat(5). SIGKILL wakes each thread in an interruptible sleep, so a thread
 * that still sleeps is on its way out, or cannot be woken. */
#include "supervisor/dying_servers.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/grow.h"

#define DYING_FIRST INT64_C(10000000)   /* ns between two looks at a process, at first */
#define DYING_LAST  INT64_C(1000000000) /* and when it has been there for long */
#define DYING_SLOWS 8                   /* in between they are this part of its age */

enum dying_state { DYING_OVER, DYING_ASLEEP, DYING_AWAKE };

static enum dying_state dying_servers_thread(pid_t process, const char *thread)
{
	char path[64], text[256], *at;
	auto_fclose FILE *file = NULL;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", (int)process, thread);
	file = fopen(path, "re");
	if (!file)
		return DYING_OVER;
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = 0;
	at = strrchr(text, ')'); /* of the name, which may have any characters */
	if (!at || !at[1] || strchr("ZX", at[2]))
		return DYING_OVER;
	return strchr("DSI", at[2]) ? DYING_ASLEEP : DYING_AWAKE;
}

/* Returns how many threads are left if all of them sleep. 0: one is awake, or there is none. */
static unsigned dying_servers_asleep(pid_t process)
{
	enum dying_state state = DYING_OVER;
	const struct dirent *entry;
	unsigned count = 0;
	char path[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	folder = opendir(path);
	if (!folder)
		return 0;
	while (state != DYING_AWAKE && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		state = dying_servers_thread(process, entry->d_name);
		count += state == DYING_ASLEEP;
	}
	closedir(folder);
	return state == DYING_AWAKE ? 0 : count;
}

int dying_servers_add(struct dying_servers *dying, pid_t process, bool holds_requests, struct error *err)
{
	int r = grow_one(dying->items, dying->count, err);

	if (r < 0)
		return r;
	dying->items[dying->count++] = (struct dying_server){ .process = process, .holds_requests = holds_requests };
	return 0;
}

bool dying_servers_end(struct dying_servers *dying, pid_t process)
{
	for (size_t i = 0; i < dying->count; i++) {
		if (dying->items[i].process != process)
			continue;
		dying->items[i] = dying->items[--dying->count];
		return true;
	}
	return false;
}

static void dying_servers_plan(struct dying_server *one, int64_t now)
{
	int64_t pause;

	if (!one->since)
		one->since = now;
	pause = (now - one->since) / DYING_SLOWS;
	one->look_at = now + (pause < DYING_FIRST ? DYING_FIRST : pause > DYING_LAST ? DYING_LAST : pause);
}

/* True if the kernel should be asked again for what this process has taken. */
static bool dying_servers_look_at(struct dying_server *one, int64_t now)
{
	unsigned threads;

	dying_servers_plan(one, now);
	threads = dying_servers_asleep(one->process);
	if (!threads || (one->threads && threads >= one->threads))
		return false;
	one->threads = threads;
	return true;
}

pid_t dying_servers_look(struct dying_servers *dying, int64_t now)
{
	for (size_t i = 0; i < dying->count; i++)
		if (dying->items[i].look_at <= now && dying_servers_look_at(&dying->items[i], now))
			return dying->items[i].process;
	return 0;
}

const struct dying_server *dying_servers_stay(struct dying_servers *dying, int64_t age, int64_t now)
{
	for (size_t i = 0; i < dying->count; i++) {
		struct dying_server *one = &dying->items[i];

		if (one->is_told || !one->since || now - one->since < age)
			continue;
		one->is_told = true;
		return one;
	}
	return NULL;
}

int64_t dying_servers_next(const struct dying_servers *dying)
{
	int64_t next = INT64_MAX;

	for (size_t i = 0; i < dying->count; i++)
		if (dying->items[i].look_at < next)
			next = dying->items[i].look_at;
	return next;
}

void dying_servers_free(struct dying_servers *dying)
{
	free(dying->items);
	*dying = (struct dying_servers){ 0 };
}
