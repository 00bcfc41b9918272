/* SPDX-License-Identifier: MIT */
/* Checks every worker once a second: waiting.c answers overdue requests; this file reports stalls and has the control
 * thread look for the volume. Members are checked more often, and even more often while one is suspect. */
#include "serve/health/watchdog.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread/thread.h"
#include "base/thread/wake.h"
#include "device/nvme/topology.h"
#include "serve/health/reopen.h"
#include "serve/health/suspects.h"
#include "serve/readahead/fetchers.h"
#include "serve/request/waiting.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

#define SECOND WAITING_SECOND
#define PERIOD SECOND /* time between two checks of all workers */
#define GLANCE (SECOND / 4)   /* time between two checks for suspect members */
#define STARE  (SECOND / 10)  /* the same while a member is suspect */

struct watchdog {
	struct counters counters;
	struct serve *serve;
	struct thread thread;
	struct wake wake;
	struct suspects suspects;
	_Atomic bool ending;
	_Atomic int64_t waiting_since; /* begin of the stall under way, ns, monotonic; 0: none */
	_Atomic int64_t longest; /* ns */
	_Atomic uint64_t count;
	unsigned reported; /* reports due so far about the stall under way */
	bool silent;   /* the stall under way is not logged, as too many were lately */
};

/* Checks one worker. Returns the time since when its oldest read waits, ns, monotonic; 0: none waits. */
static int64_t watchdog_visit(struct watchdog *watchdog, struct worker *worker)
{
	int64_t oldest = waiting_oldest(worker);
	bool overdue = oldest && clock_now() - oldest >= watchdog->serve->options.read.deadline * SECOND;

	if (oldest && !worker->channel->ops->own_thread)
		waiting_release_killed(worker, &watchdog->counters);
	if (overdue && !worker->channel->ops->own_thread)
		waiting_expire(worker, &watchdog->counters);
	if (waiting_is_lost(worker))
		reopen_request(watchdog->serve);
	if (waiting_has_parked(worker) || (overdue && worker->channel->ops->own_thread))
		waiting_retry(worker);
	return oldest;
}

/* ---- reports ---- */

/* Writes text like ": nvme3 connecting, 1 of 2 paths live". False: all paths are live. */
static bool watchdog_describe_namespace(const struct topology *topology, const struct topology_namespace *namespace,
					char *text, size_t size)
{
	const struct topology_controller *controller;
	const char *name = "", *state = "";
	size_t count, live;

	for (size_t i = 0; i < topology->path_count && !*state; i++) {
		controller = &topology->controllers[topology->paths[i].controller];
		if (&topology->namespaces[topology->paths[i].namespace] != namespace ||
		    !strcmp(controller->state, "live"))
			continue;
		name = controller->name;
		state = controller->state;
	}
	count = topology_paths_of(topology, namespace, &live);
	snprintf(text, size, ": %s%s%s%s%zu of %zu paths live", name, *state ? " " : "", state,
		 *state ? ", " : "", live, count);
	return *state;
}

/* Describes the first member that is a namespace with a path that is not live, or else the last namespace; "" if no
 * member is a namespace. */
static void watchdog_describe_paths(const struct watchdog *watchdog, char *text, size_t size)
{
	const struct array_source *volume = watchdog->serve->volume.array;
	auto_topology struct topology topology = { 0 };
	const struct topology_namespace *namespace;
	struct error err = { 0 };
	bool is_down = false;
	struct stat st;

	text[0] = 0;
	for (uint32_t i = 0; i < volume->count && !is_down; i++) {
		if (fstat(volume->fds[i], &st) < 0 || !S_ISBLK(st.st_mode))
			continue;
		if (!topology.namespace_count && topology_read(topology_root(), &topology, &err) < 0)
			return;
		namespace = topology_below(&topology, st.st_rdev);
		is_down = namespace && watchdog_describe_namespace(&topology, namespace, text, size);
	}
}

static void watchdog_report(const struct watchdog *watchdog, unsigned seconds)
{
	int code = atomic_load(&watchdog->serve->volume.path_error);
	char paths[160];

	watchdog_describe_paths(watchdog, paths, sizeof(paths));
	log_warn("device reads of '%s' have waited %u s%s%s%s", watchdog->serve->options.volume, seconds, paths,
		 code ? ", the device says: " : "", code ? strerror(-code) : "");
}

static void watchdog_begin(struct watchdog *watchdog, int64_t since)
{
	static struct log_limit limit = { .burst = 5 };
	unsigned suppressed;

	atomic_store(&watchdog->waiting_since, since);
	atomic_fetch_add(&watchdog->count, 1);
	watchdog->reported = 0;
	watchdog->silent = !log_allow(&limit, &suppressed);
}

static void watchdog_go_on(struct watchdog *watchdog, int64_t age)
{
	static const unsigned seconds[] = { 1, 10, 60 };
	unsigned due = watchdog->reported;

	if (age > atomic_load(&watchdog->longest))
		atomic_store(&watchdog->longest, age);
	while (due < sizeof(seconds) / sizeof(*seconds) && age >= seconds[due] * SECOND)
		due++;
	if (due > watchdog->reported && !watchdog->silent)
		watchdog_report(watchdog, seconds[due - 1]);
	watchdog->reported = due;
}

static void watchdog_end(struct watchdog *watchdog, int64_t age)
{
	if (!watchdog->silent)
		log_warn("no device read of '%s' waits any more, after %.1f s", watchdog->serve->options.volume,
			 (double)age / SECOND);
	atomic_store(&watchdog->waiting_since, 0);
	atomic_store(&watchdog->serve->volume.path_error, 0);
}

/* ---- the thread ---- */

static void watchdog_look(struct watchdog *watchdog)
{
	struct serve *serve = watchdog->serve;
	int64_t now, since, oldest = 0;

	for (unsigned i = 0; i < serve->worker_count; i++) {
		since = watchdog_visit(watchdog, serve->workers[i]);
		if (since && (!oldest || since < oldest))
			oldest = since;
	}
	if (watchdog->suspects.is_failing) {
		reopen_request(serve);
		serve_request_rejoin(serve);
	}
	if (atomic_exchange(&serve->due.doubt, false) && serve->volume.route)
		reopen_request(serve);
	now = clock_now();
	since = atomic_load(&watchdog->waiting_since);
	if (!since && oldest && now - oldest >= WAITING_STALL)
		watchdog_begin(watchdog, since = oldest);
	if (since && (!oldest || now - oldest < WAITING_STALL))
		watchdog_end(watchdog, now - since);
	else if (since)
		watchdog_go_on(watchdog, now - since);
}

/* Sleeps until the next check, and checks only for suspect members meanwhile. */
static void watchdog_sleep(struct watchdog *watchdog)
{
	int64_t until = clock_now() + PERIOD, left = PERIOD, most = PERIOD;

	while (left > 0 && !atomic_load(&watchdog->ending)) {
		if (serve_has_places(watchdog->serve))
			most = suspects_look(&watchdog->suspects, watchdog->serve) ? STARE : GLANCE;
		wake_wait(&watchdog->wake, (int)((left < most ? left : most) / 1000000) + 1);
		left = until - clock_now();
	}
}

static void watchdog_main(void *argument)
{
	struct watchdog *watchdog = argument;

	while (!atomic_load(&watchdog->ending)) {
		watchdog_sleep(watchdog);
		watchdog_look(watchdog);
		fetchers_tick(watchdog->serve);
	}
}

struct watchdog_stalls watchdog_stalls(const struct watchdog *watchdog)
{
	int64_t since = atomic_load(&watchdog->waiting_since);
	struct watchdog_stalls stalls = { 0 };

	if (since)
		stalls.since = (uint64_t)time(NULL) - (uint64_t)(clock_now() - since) / SECOND;
	stalls.count = atomic_load(&watchdog->count);
	stalls.longest = (double)atomic_load(&watchdog->longest) / SECOND;
	return stalls;
}

const struct counters *watchdog_counters(const struct watchdog *watchdog)
{
	return &watchdog->counters;
}

int watchdog_start(struct serve *serve, struct error *err)
{
	struct watchdog *watchdog = aligned_alloc(_Alignof(struct watchdog), sizeof(*watchdog));
	const struct thread_setup setup = { .run = watchdog_main, .argument = watchdog, .what = "the watchdog" };
	int r;

	if (!watchdog)
		return error_no_memory(err);
	memset(watchdog, 0, sizeof(*watchdog));
	watchdog->serve = serve;
	r = wake_open(&watchdog->wake, err);
	if (r == 0)
		r = thread_start(&watchdog->thread, 1, &setup, err);
	if (r < 0) {
		wake_close(&watchdog->wake);
		free(watchdog);
		return r;
	}
	serve->watchdog = watchdog;
	return 0;
}

void watchdog_stop(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	atomic_store(&watchdog->ending, true);
	wake_up(&watchdog->wake);
	thread_join(&watchdog->thread);
}

void watchdog_free(struct watchdog *watchdog)
{
	if (!watchdog)
		return;
	wake_close(&watchdog->wake);
	free(watchdog);
}
