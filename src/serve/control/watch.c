/* SPDX-License-Identifier: MIT */
/* One look at every worker a second, and what follows from it: waiting.c answers, this tells and has the volume
 * looked for. */
#include "serve/control/watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/wake.h"
#include "device/topology.h"
#include "serve/control/reopen.h"
#include "serve/request/waiting.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

#define SECOND WAITING_SECOND
#define PERIOD SECOND /* between two looks */

struct watch {
	struct counters counters;
	struct serve *serve;
	pthread_t thread;
	struct wake wake;
	_Atomic bool ending;
	_Atomic int64_t since;   /* of the stall under way, ns; 0: none */
	_Atomic int64_t longest; /* ns */
	_Atomic uint64_t count;
	unsigned told; /* lines about the stall under way */
	bool silent;   /* there were too many lately */
};

/* Since when its oldest read waits. */
static int64_t watch_visit(struct watch *watch, struct worker *worker)
{
	int64_t oldest = waiting_oldest(worker);
	bool overdue = oldest && clock_now() - oldest >= watch->serve->options.read.deadline * SECOND;

	if (oldest && !worker->channel->ops->own_thread)
		waiting_release_killed(worker, &watch->counters);
	if (overdue && !worker->channel->ops->own_thread)
		waiting_expire(worker, &watch->counters);
	if (waiting_is_lost(worker))
		reopen_wish(watch->serve);
	if (waiting_has_parked(worker) || (overdue && worker->channel->ops->own_thread))
		waiting_retry(worker);
	return oldest;
}

/* ---- what is told ---- */

/* "nvme3 connecting, 1 of 2 paths live" when the volume is a namespace, else "". */
static void watch_describe_paths(const struct watch *watch, char *text, size_t size)
{
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace = NULL;
	const struct topology_controller *controller;
	const char *name = "", *state = "";
	struct error err = { 0 };
	size_t count, live;
	struct stat st;

	text[0] = 0;
	if (fstat(watch->serve->volume->fd, &st) == 0 && S_ISBLK(st.st_mode) &&
	    topology_read(topology_root(), &topology, &err) == 0)
		namespace = topology_by_device(&topology, st.st_rdev);
	if (!namespace)
		return;
	for (size_t i = 0; i < topology.path_count && !*state; i++) {
		controller = &topology.controllers[topology.paths[i].controller];
		if (&topology.namespaces[topology.paths[i].namespace] != namespace || !strcmp(controller->state, "live"))
			continue;
		name = controller->name;
		state = controller->state;
	}
	count = topology_paths_of(&topology, namespace, &live);
	snprintf(text, size, ": %s%s%s%s%zu of %zu paths live", name, *state ? " " : "", state, *state ? ", " : "", live,
		 count);
}

static void watch_tell(const struct watch *watch, unsigned seconds)
{
	int code = atomic_load(&watch->serve->path_error);
	char paths[160];

	watch_describe_paths(watch, paths, sizeof(paths));
	log_warn("device reads of '%s' have waited %u s%s%s%s", watch->serve->options.volume, seconds, paths,
		 code ? ", the device says: " : "", code ? strerror(-code) : "");
}

static void watch_begin(struct watch *watch, int64_t since)
{
	static struct log_limit limit = { .burst = 5 };
	unsigned held;

	atomic_store(&watch->since, since);
	atomic_fetch_add(&watch->count, 1);
	watch->told = 0;
	watch->silent = !log_allow(&limit, &held);
}

static void watch_go_on(struct watch *watch, int64_t age)
{
	static const unsigned seconds[] = { 1, 10, 60 };
	unsigned due = watch->told;

	if (age > atomic_load(&watch->longest))
		atomic_store(&watch->longest, age);
	while (due < sizeof(seconds) / sizeof(*seconds) && age >= seconds[due] * SECOND)
		due++;
	if (due > watch->told && !watch->silent)
		watch_tell(watch, seconds[due - 1]);
	watch->told = due;
}

static void watch_end(struct watch *watch, int64_t age)
{
	if (!watch->silent)
		log_warn("no device read of '%s' waits any more, after %.1f s", watch->serve->options.volume,
			 (double)age / SECOND);
	atomic_store(&watch->since, 0);
	atomic_store(&watch->serve->path_error, 0);
}

/* ---- the thread ---- */

static void watch_look(struct watch *watch)
{
	struct serve *serve = watch->serve;
	int64_t now, since, oldest = 0;

	for (unsigned i = 0; i < serve->worker_count; i++) {
		since = watch_visit(watch, serve->workers[i]);
		if (since && (!oldest || since < oldest))
			oldest = since;
	}
	now = clock_now();
	since = atomic_load(&watch->since);
	if (!since && oldest && now - oldest >= WAITING_STALL)
		watch_begin(watch, since = oldest);
	if (since && (!oldest || now - oldest < WAITING_STALL))
		watch_end(watch, now - since);
	else if (since)
		watch_go_on(watch, now - since);
}

static void *watch_main(void *argument)
{
	struct watch *watch = argument;

	while (!atomic_load(&watch->ending)) {
		wake_wait(&watch->wake, PERIOD / 1000000);
		watch_look(watch);
	}
	return NULL;
}

struct watch_stalls watch_stalls(const struct watch *watch)
{
	int64_t since = atomic_load(&watch->since);
	struct watch_stalls stalls = { 0 };

	if (since)
		stalls.since = (uint64_t)time(NULL) - (uint64_t)(clock_now() - since) / SECOND;
	stalls.count = atomic_load(&watch->count);
	stalls.longest = (double)atomic_load(&watch->longest) / SECOND;
	return stalls;
}

const struct counters *watch_counters(const struct watch *watch)
{
	return &watch->counters;
}

int watch_start(struct serve *serve, struct error *err)
{
	struct watch *watch = aligned_alloc(_Alignof(struct watch), sizeof(*watch));
	int r;

	if (!watch)
		return error_set(err, -ENOMEM, "no memory for the watch");
	memset(watch, 0, sizeof(*watch));
	watch->serve = serve;
	r = wake_open(&watch->wake, err);
	if (r == 0) {
		r = -pthread_create(&watch->thread, NULL, watch_main, watch);
		if (r < 0)
			error_set(err, r, "cannot start the watch: %s", strerror(-r));
	}
	if (r < 0) {
		wake_close(&watch->wake);
		free(watch);
		return r;
	}
	serve->watch = watch;
	return 0;
}

void watch_stop(struct watch *watch)
{
	if (!watch)
		return;
	atomic_store(&watch->ending, true);
	wake_up(&watch->wake);
	pthread_join(watch->thread, NULL);
	wake_close(&watch->wake);
	free(watch);
}
