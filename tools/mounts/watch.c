/* SPDX-License-Identifier: MIT */
/* Runs a child process for each mount. The list of mounts comes from the mount table, which can be read without waiting
 * for any daemon. */
#include "mounts/watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/grow.h"
#include "base/program/interrupt.h"
#include "device/kernel_view.h"

#define WATCH_KEEP INT64_C(60000000000) /* ns for which a mount that is gone is still shown, unless it was named */
#define WATCH_END  INT64_C(100000000)   /* ns to wait until the probes have closed their files on mounts */
#define WATCH_PATIENCE INT64_C(5000000000) /* ns for an answer */
#define WATCH_FDS  256u                 /* mounts whose answers wake watch_wait(); the others are read with them */

/* ---- the list ---- */

static void watch_mount_free(struct watch_mount *mount, int64_t until)
{
	probe_stop(mount->probe, until);
	mounted_free(&mount->mounted);
	free(mount);
}

static int watch_add(struct watch *watch, const struct mounted *mounted, struct error *err)
{
	struct watch_mount *mount = calloc(1, sizeof(*mount));
	int r = mount ? grow_one(watch->mounts, watch->count, err) : error_no_memory(err);

	if (r == 0)
		r = mounted_copy(mounted, &mount->mounted, err);
	if (r < 0) {
		free(mount);
		return r;
	}
	mount->is_mounted = true;
	mount->state = mounted->label ? WATCH_KERNEL : WATCH_NEW;
	watch->mounts[watch->count++] = mount;
	return 0;
}

static void watch_remove(struct watch *watch, size_t index, int64_t until)
{
	watch_mount_free(watch->mounts[index], until);
	watch->count--;
	memmove(watch->mounts + index, watch->mounts + index + 1, (watch->count - index) * sizeof(*watch->mounts));
}

void watch_close(struct watch *watch)
{
	int64_t until = clock_now() + WATCH_END;

	while (watch->count)
		watch_remove(watch, watch->count - 1, until);
	free(watch->mounts);
	watch->mounts = NULL;
}

/* ---- the mount table ---- */

static struct watch_mount *watch_find(const struct watch *watch, const char *point)
{
	for (size_t i = 0; i < watch->count; i++)
		if (!strcmp(watch->mounts[i]->mounted.point, point))
			return watch->mounts[i];
	return NULL;
}

static bool watch_has_device(const struct watch *watch, dev_t device)
{
	for (size_t i = 0; i < watch->count; i++)
		if (watch->mounts[i]->is_mounted && watch->mounts[i]->mounted.device == device)
			return true;
	return false;
}

/* Notes that the mount is in the table. If it is a new one on the same point, ends the probe, which may hang in the
 * earlier one. */
static void watch_meet(struct watch_mount *mount, const struct mounted *mounted)
{
	struct mounted copy;

	mount->is_mounted = true;
	if (mount->mounted.device == mounted->device)
		return;
	mount->mounted.device = mounted->device;
	if (mounted_copy(mounted, &copy, NULL) == 0) { /* the kernel serves another version there */
		mounted_free(&mount->mounted);
		mount->mounted = copy;
	}
	probe_stop(mount->probe, 0);
	mount->probe = NULL;
	mount->asked = 0;
}

/* Notes a mount of the table; adds it if all are watched. A filesystem mounted in several places is added once. */
static int watch_see(void *argument, const struct mounted *mounted, struct error *err)
{
	struct watch *watch = argument;
	struct watch_mount *mount = watch_find(watch, mounted->point);

	if (mount) {
		watch_meet(mount, mounted);
		return 0;
	}
	return watch->is_all && !watch_has_device(watch, mounted->device) ? watch_add(watch, mounted, err) : 0;
}

static int watch_look(struct watch *watch, struct error *err)
{
	for (size_t i = 0; i < watch->count; i++)
		watch->mounts[i]->is_mounted = false;
	return mounted_each(watch_see, watch, err);
}

static void watch_leave(struct watch_mount *mount, const char *reason)
{
	if (mount->state != WATCH_GONE)
		mount->left = clock_now();
	mount->state = WATCH_GONE;
	mount->has_rates = mount->has_stats = false;
	snprintf(mount->reason, sizeof(mount->reason), "%s", reason);
}

static void watch_forget(struct watch *watch)
{
	for (size_t i = watch->count; i-- > 0;) {
		struct watch_mount *mount = watch->mounts[i];

		if (mount->is_mounted)
			continue;
		watch_leave(mount, "not mounted any more");
		if (watch->is_all && clock_now() - mount->left > WATCH_KEEP)
			watch_remove(watch, i, 0);
	}
}

/* ---- named mounts ---- */

struct watch_name {
	const char *path;
	struct mounted *found;
};

static int watch_match(void *argument, const struct mounted *mounted, struct error *err)
{
	struct watch_name *name = argument;
	int r;

	if (strcmp(mounted->point, name->path) != 0)
		return 0;
	r = mounted_copy(mounted, name->found, err);
	return r < 0 ? r : 1;
}

static int watch_resolve(const char *name, struct mounted *ret, struct error *err)
{
	auto_free char *path = NULL;
	struct watch_name wanted = { .found = ret };
	int r = mounted_absolute(name, &path, err);

	if (r < 0)
		return r;
	wanted.path = path;
	r = mounted_each(watch_match, &wanted, err);
	if (r)
		return r < 0 ? r : 0;
	return mounted_at(name, 0, ret, err);
}

static int watch_name(struct watch *watch, const char *name, struct error *err)
{
	struct mounted mounted = { 0 };
	int r = watch_resolve(name, &mounted, err);

	if (r == 0 && !watch_find(watch, mounted.point))
		r = watch_add(watch, &mounted, err);
	mounted_free(&mounted);
	return r < 0 ? error_wrap(err, r, "'%s'", name) : 0;
}

int watch_open(struct watch *watch, char *const *names, size_t count, struct error *err)
{
	int r = 0;

	*watch = (struct watch){ .is_all = count == 0 };
	for (size_t i = 0; r == 0 && i < count; i++)
		r = watch_name(watch, names[i], err);
	return r;
}

/* ---- questions and answers ---- */

static void watch_note(struct watch_mount *mount, const struct reported_stats *stats)
{
	rates_between(mount->has_stats ? &mount->stats : NULL, stats, &mount->rates);
	mount->has_rates = mount->has_stats;
	mount->has_stats = true;
	mount->stats = *stats;
}

/* Looks at a mount that the kernel serves by itself: only what its devices read is counted, and by others as well. */
static void watch_look_at_devices(struct watch_mount *mount)
{
	auto_kernel_view struct kernel_view view = { .count = 0 };
	struct reported_stats stats = { .uptime = (double)clock_now() / 1e9 };
	struct activity sum;

	mount->state = WATCH_KERNEL;
	if (kernel_view_read(mount->mounted.point, mount->mounted.device, &view, NULL) < 0) {
		mount->has_rates = mount->has_stats = false;
		return;
	}
	sum = kernel_view_sum(&view);
	snprintf(stats.label, sizeof(stats.label), "%s", view.record.label);
	stats.sequence = view.record.sequence;
	stats.serving_since = view.record.since;
	stats.switches = view.record.switches;
	stats.members = (uint32_t)view.count;
	stats.device_reads = sum.reads;
	stats.device_bytes = sum.bytes;
	stats.in_flight = sum.in_flight;
	watch_note(mount, &stats);
}

int watch_ask(struct watch *watch, struct error *err)
{
	int r = watch_look(watch, err);

	watch_forget(watch);
	for (size_t i = 0; r == 0 && i < watch->count; i++) {
		struct watch_mount *mount = watch->mounts[i];

		if (mount->is_mounted && mount->mounted.label)
			watch_look_at_devices(mount);
		if (!mount->is_mounted || mount->mounted.label || (mount->probe && probe_is_asked(mount->probe)))
			continue;
		if (!mount->probe)
			r = probe_start(mount->mounted.point, &mount->probe, err);
		if (r < 0)
			break;
		probe_ask(mount->probe);
		mount->asked = clock_now();
	}
	return r;
}

static void watch_fail(struct watch_mount *mount, const struct probe_answer *answer)
{
	bool is_gone = answer->code == -ENOTCONN || answer->code == -ENOENT || answer->code == -ECONNABORTED;

	if (is_gone) {
		watch_leave(mount, answer->reason);
		return;
	}
	mount->state = WATCH_REFUSES;
	mount->has_rates = mount->has_stats = false;
	snprintf(mount->reason, sizeof(mount->reason), "%s", answer->reason);
}

static void watch_answer(struct watch_mount *mount, const struct probe_answer *answer)
{
	mount->asked = 0;
	if (answer->code < 0) {
		watch_fail(mount, answer);
		return;
	}
	watch_note(mount, &answer->stats);
	mount->state = WATCH_ANSWERS;
}

bool watch_take(struct watch *watch)
{
	struct probe_answer answer;
	bool all = true;

	for (size_t i = 0; i < watch->count; i++) {
		struct watch_mount *mount = watch->mounts[i];
		int r = mount->probe ? probe_take(mount->probe, &answer, NULL) : 0;

		if (r > 0) {
			watch_answer(mount, &answer);
		} else if (r < 0) { /* the next question starts another probe */
			probe_stop(mount->probe, 0);
			mount->probe = NULL;
		}
		all = all && !(mount->probe && probe_is_asked(mount->probe));
	}
	return all;
}

void watch_settle(struct watch *watch)
{
	for (size_t i = 0; i < watch->count; i++) {
		struct watch_mount *mount = watch->mounts[i];

		if (mount->state == WATCH_GONE && !mount->is_mounted)
			continue;
		if (!mount->probe || !probe_is_asked(mount->probe))
			continue;
		mount->state = WATCH_SILENT;
		mount->has_rates = false;
		snprintf(mount->reason, sizeof(mount->reason), "it has not answered for %.0f s",
			 (double)(clock_now() - mount->asked) / 1e9);
	}
}

size_t watch_fds(const struct watch *watch, struct pollfd *fds, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < watch->count && used < count; i++)
		if (watch->mounts[i]->probe && probe_is_asked(watch->mounts[i]->probe))
			fds[used++] = (struct pollfd){ .fd = probe_fd(watch->mounts[i]->probe), .events = POLLIN };
	return used;
}

int watch_wait(struct watch *watch, struct error *err)
{
	int64_t until = clock_now() + WATCH_PATIENCE, now;
	struct pollfd fds[WATCH_FDS];
	int r = 0;

	while (r == 0 && !watch_take(watch) && (now = clock_now()) < until)
		r = interrupt_poll(fds, watch_fds(watch, fds, WATCH_FDS), until - now, err);
	watch_settle(watch);
	return r;
}
