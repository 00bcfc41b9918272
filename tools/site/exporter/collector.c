/* SPDX-License-Identifier: MIT */
/* Starts one process per mount. One that hangs is left alone until its mount answers or goes away. Until then the mount
 * counts as down and gets no second one, so there are never more processes than mounts. */
#include "exporter/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/program/child.h"
#include "exporter/mounts.h"
#include "exporter/scrape.h"

/* A mount that is asked in this round. */
struct collector_mount {
	struct mounts_entry *entry;
	struct scrape scrape;
	bool is_under_way;
	int result;      /* 0 or a negative errno, once the answer is complete */
	int64_t seconds; /* ns until the answer was complete */
};

/* A scrape that was given up and whose process still runs. It counts as hanging if it missed the timeout, or has
 * lingered that long since. */
struct collector_stuck {
	struct collector_stuck *next;
	dev_t device;
	int64_t since; /* ns, monotonic */
	bool was_late;
	struct child child;
};

struct collector {
	int64_t timeout; /* ns */
	int epoll;
	struct collector_stuck *stuck;
	uint64_t rounds;
	/* of the round: */
	bool is_busy;
	int64_t started;
	struct mounts mounts;
	struct collector_mount *list; /* as many as mounts.count */
	size_t under_way;
};

int collector_new(unsigned timeout, struct collector **ret, struct error *err)
{
	struct collector *collector = calloc(1, sizeof(*collector));

	if (!collector)
		return error_no_memory(err);
	collector->timeout = (int64_t)timeout * 1000000000;
	collector->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (collector->epoll < 0) {
		free(collector);
		return error_errno(err, "no epoll");
	}
	*ret = collector;
	return 0;
}

void collector_reap(struct collector *collector)
{
	struct collector_stuck **at = &collector->stuck, *stuck;

	while ((stuck = *at)) {
		if (child_is_gone(&stuck->child)) {
			*at = stuck->next;
			free(stuck);
		} else {
			at = &stuck->next;
		}
	}
}

static bool collector_is_stuck(const struct collector *collector, dev_t device)
{
	for (const struct collector_stuck *stuck = collector->stuck; stuck; stuck = stuck->next)
		if (stuck->device == device &&
		    (stuck->was_late || clock_now() - stuck->since > collector->timeout))
			return true;
	return false;
}

/* Stops polling the socket. Closing it is not enough: a process that is just being forked still has it open as well. */
static void collector_forget(struct collector *collector, const struct collector_mount *mount)
{
	epoll_ctl(collector->epoll, EPOLL_CTL_DEL, mount->scrape.child.fd, NULL);
}

/* Gives the mount's scrape up, and remembers its process until that has ended. */
static void collector_give_up(struct collector *collector, struct collector_mount *mount)
{
	struct collector_stuck *stuck;

	if (mount->is_under_way)
		collector_forget(collector, mount);
	scrape_give_up(&mount->scrape);
	if (child_is_gone(&mount->scrape.child))
		return;
	stuck = malloc(sizeof(*stuck));
	if (!stuck)
		return; /* forgotten, so this mount may get a second process */
	*stuck = (struct collector_stuck){
		.next = collector->stuck,
		.device = mount->entry->device,
		.since = clock_now(),
		.was_late = mount->is_under_way,
		.child = mount->scrape.child,
	};
	collector->stuck = stuck;
}

static void collector_end_mount(struct collector *collector, struct collector_mount *mount, int result)
{
	if (mount->is_under_way)
		collector->under_way--;
	mount->is_under_way = false;
	mount->result = result;
	mount->seconds = clock_now() - collector->started;
}

static int collector_start_mount(struct collector *collector, struct collector_mount *mount)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = mount };
	struct error err = { 0 };
	int r;

	if (collector_is_stuck(collector, mount->entry->device))
		return -ETIMEDOUT;
	r = scrape_start(&mount->scrape, mount->entry, &err);
	if (r < 0)
		return log_error(&err, "cannot ask the mount '%s'", mount->entry->point);
	if (epoll_ctl(collector->epoll, EPOLL_CTL_ADD, mount->scrape.child.fd, &event) < 0) {
		r = -errno;
		collector_give_up(collector, mount);
		return r;
	}
	mount->is_under_way = true;
	collector->under_way++;
	return 0;
}

int collector_begin(struct collector *collector, struct error *err)
{
	struct collector_mount *mount;
	int r;

	if (collector->is_busy)
		return 0;
	collector_reap(collector);
	r = mounts_read(&collector->mounts, err);
	if (r < 0)
		return r;
	collector->list = calloc(collector->mounts.count + 1, sizeof(*collector->list));
	if (!collector->list) {
		mounts_free(&collector->mounts);
		return error_no_memory(err);
	}
	collector->started = clock_now();
	collector->is_busy = true;
	collector->rounds++;
	for (size_t i = 0; i < collector->mounts.count; i++) {
		mount = &collector->list[i];
		mount->entry = &collector->mounts.list[i];
		mount->scrape.child = CHILD_NONE;
		r = collector_start_mount(collector, mount);
		if (r < 0)
			collector_end_mount(collector, mount, r);
	}
	return 0;
}

int collector_fd(const struct collector *collector)
{
	return collector->epoll;
}

int collector_wait(const struct collector *collector)
{
	int64_t left = collector->started + collector->timeout - clock_now();

	if (!collector->is_busy)
		return -1;
	if (!collector->under_way || left < 0)
		return 0;
	return (int)(left / 1000000) + 1;
}

static void collector_time_out(struct collector *collector)
{
	struct collector_mount *mount;

	for (size_t i = 0; i < collector->mounts.count; i++) {
		mount = &collector->list[i];
		if (mount->is_under_way) {
			collector_give_up(collector, mount);
			collector_end_mount(collector, mount, -ETIMEDOUT);
		}
	}
}

bool collector_step(struct collector *collector)
{
	struct collector_mount *mount;
	struct epoll_event events[16];
	int count = epoll_wait(collector->epoll, events, 16, 0);

	for (int i = 0; i < count; i++) {
		mount = events[i].data.ptr;
		if (!scrape_step(&mount->scrape))
			continue;
		collector_forget(collector, mount);
		collector_end_mount(collector, mount, scrape_finish(&mount->scrape));
	}
	if (collector->is_busy && clock_now() - collector->started >= collector->timeout)
		collector_time_out(collector);
	return collector->is_busy && !collector->under_way;
}

/* ---- results ---- */

/* Returns whether the user who mounted it does not share it, not even with root. */
static bool collector_is_private(const struct collector_mount *mount)
{
	return mount->result == -EACCES && !mount->entry->is_shared;
}

/* Returns whether it was unmounted meanwhile, or another filesystem covers it. */
static bool collector_is_absent(const struct collector_mount *mount)
{
	return mount->result == -ENOENT || mount->result == -ENOTDIR;
}

static void collector_complain(const struct collector_mount *mount, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	unsigned suppressed;

	if (log_allow(&limit, &suppressed))
		log_warn("mount '%s': %s, suppressed=%u", mount->entry->point,
			 mount->result == -ETIMEDOUT ? "it does not answer in time" : err->reason, suppressed);
}

static void collector_take(struct exposition *exposition, struct collector_mount *mount)
{
	struct error err = { 0 };

	if (mount->result == 0)
		mount->result = exposition_add(exposition, mount->entry->point, mount->scrape.text,
					       mount->scrape.length, &err);
	else
		error_set(&err, mount->result, "cannot read its metrics: %s", strerror(-mount->result));
	if (mount->result < 0 && !collector_is_private(mount) && !collector_is_absent(mount))
		collector_complain(mount, &err);
}

static int collector_write_mounts(const struct collector *collector, struct exposition *exposition, const char *name,
				  const char *help, double (*value)(const struct collector_mount *mount),
				  struct error *err)
{
	const struct collector_mount *mount;
	int r = exposition_family(exposition, name, "gauge", help, err);

	for (size_t i = 0; r == 0 && i < collector->mounts.count; i++) {
		mount = &collector->list[i];
		if (!collector_is_private(mount) && !collector_is_absent(mount))
			r = exposition_series(exposition, name, mount->entry->point, value(mount), err);
	}
	return r;
}

static double collector_up(const struct collector_mount *mount)
{
	return mount->result == 0;
}

static double collector_seconds(const struct collector_mount *mount)
{
	return (double)mount->seconds / 1e9;
}

static double collector_cpu(int who)
{
	struct rusage usage = { 0 };

	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int collector_write_one(struct exposition *exposition, const char *name, const char *type, const char *help,
			       double value, struct error *err)
{
	int r = exposition_family(exposition, name, type, help, err);

	return r < 0 ? r : exposition_series(exposition, name, NULL, value, err);
}

static int collector_write_own(const struct collector *collector, struct exposition *exposition, struct error *err)
{
	size_t hidden = 0;
	int r;

	for (size_t i = 0; i < collector->mounts.count; i++)
		hidden += collector_is_private(&collector->list[i]);
	r = collector_write_one(exposition, "datasetfs_exporter_private_mounts", "gauge",
				"Mounts of users who share them with nobody: they are not read.", (double)hidden, err);
	if (r == 0)
		r = collector_write_one(exposition, "datasetfs_exporter_skipped_mounts", "gauge",
					"Mounts beyond the number that is read.",
					(double)collector->mounts.left_out, err);
	if (r == 0)
		r = collector_write_one(exposition, "datasetfs_exporter_scrapes_total", "counter",
					"Times that all mounts were asked.", (double)collector->rounds, err);
	if (r == 0)
		r = collector_write_one(exposition, "datasetfs_exporter_cpu_seconds_total", "counter",
					"CPU time of the exporter, its readers included.",
					collector_cpu(RUSAGE_SELF) + collector_cpu(RUSAGE_CHILDREN), err);
	return r;
}

/* Adds all answers, root's mounts first: on a conflict the metrics of a user's mount are refused, never root's. */
static void collector_take_all(struct collector *collector, struct exposition *exposition)
{
	for (int of_users = 0; of_users < 2; of_users++)
		for (size_t i = 0; i < collector->mounts.count; i++)
			if (collector->list[i].entry->is_roots == !of_users)
				collector_take(exposition, &collector->list[i]);
}

static int collector_write(struct collector *collector, struct exposition *exposition, struct error *err)
{
	int r;

	collector_take_all(collector, exposition);
	r = collector_write_mounts(collector, exposition, "datasetfs_up",
				   "1 when the mount answered in time, with metrics that can be understood.",
				   collector_up, err);
	if (r == 0)
		r = collector_write_mounts(collector, exposition, "datasetfs_exporter_mount_seconds",
					   "Time until the metrics of the mount were there.", collector_seconds, err);
	return r < 0 ? r : collector_write_own(collector, exposition, err);
}

static void collector_end_round(struct collector *collector)
{
	for (size_t i = 0; i < collector->mounts.count; i++)
		collector_give_up(collector, &collector->list[i]);
	free(collector->list);
	collector->list = NULL;
	mounts_free(&collector->mounts);
	collector->under_way = 0;
	collector->is_busy = false;
}

int collector_finish(struct collector *collector, struct exposition **ret, struct error *err)
{
	struct exposition *exposition = NULL;
	int r = exposition_new(&exposition, err);

	if (r == 0)
		r = collector_write(collector, exposition, err);
	collector_end_round(collector);
	if (r < 0)
		exposition_free(exposition);
	else
		*ret = exposition;
	return r;
}

void collector_free(struct collector *collector)
{
	struct collector_stuck *stuck;

	if (!collector)
		return;
	collector_end_round(collector);
	while ((stuck = collector->stuck)) {
		collector->stuck = stuck->next;
		free(stuck);
	}
	close(collector->epoll);
	free(collector);
}
