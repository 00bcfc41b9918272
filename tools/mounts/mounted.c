/* SPDX-License-Identifier: MIT */
/* Selects our mounts from the mount table, and names their volumes. */
#include "mounts/mounted.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "assembly/naming.h"
#include "attach/state.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/mountinfo.h"
#include "base/program/step.h"
#include "device/leftover.h"
#include "device/locate.h"
#include "device/occupied.h"

void mounted_free(struct mounted *mounted)
{
	free(mounted->source);
	free(mounted->point);
	free(mounted->label);
	*mounted = (struct mounted){ 0 };
}

int mounted_copy(const struct mounted *mounted, struct mounted *ret, struct error *err)
{
	struct mounted copy = { strdup(mounted->source), strdup(mounted->point), mounted->device,
				mounted->label ? strdup(mounted->label) : NULL };

	if (!copy.source || !copy.point || !copy.label != !mounted->label) {
		mounted_free(&copy);
		return error_no_memory(err);
	}
	*ret = copy;
	return 0;
}

struct mounted_visitor {
	mounted_visit *visit;
	void *argument;
	bool hidden; /* which are visited */
};

/* A shared mount has its own place where users may not go, and others where they may. */
static bool mounted_is_hidden(const char *point)
{
	return !strncmp(point, STATE_FOLDER "/", strlen(STATE_FOLDER "/")) && access(STATE_FOLDER, X_OK) < 0;
}

static int mounted_pass(void *argument, const struct mountinfo *info, struct error *err)
{
	const struct mounted_visitor *visitor = argument;
	struct mounted mounted = { info->source, info->point, info->device, NULL };
	enum occupied_by server;
	struct occupied_view view;

	if (mounted_is_hidden(info->point) != visitor->hidden)
		return 0;
	server = occupied_server(info, &view);
	if (server == OCCUPIED_BY_KERNEL) {
		mounted.source = view.volume;
		mounted.label = view.label;
	}
	return server == OCCUPIED_BY_OTHERS ? 0 : visitor->visit(visitor->argument, &mounted, err);
}

int mounted_each(mounted_visit *visit, void *argument, struct error *err)
{
	struct mounted_visitor visitor = { visit, argument, false };
	int r = mountinfo_each(mounted_pass, &visitor, err);

	visitor.hidden = true;
	return r ? r : mountinfo_each(mounted_pass, &visitor, err);
}

struct mounted_once {
	mounted_visit *visit;
	void *argument;
	dev_t *seen;
	size_t count;
};

static int mounted_first(void *argument, const struct mounted *mounted, struct error *err)
{
	struct mounted_once *once = argument;
	int r;

	for (size_t i = 0; i < once->count; i++)
		if (once->seen[i] == mounted->device)
			return 0;
	r = grow_one(once->seen, once->count, err);
	if (r < 0)
		return r;
	once->seen[once->count++] = mounted->device;
	return once->visit(once->argument, mounted, err);
}

int mounted_each_once(mounted_visit *visit, void *argument, struct error *err)
{
	struct mounted_once once = { .visit = visit, .argument = argument };
	int r = mounted_each(mounted_first, &once, err);

	free(once.seen);
	return r;
}

int mounted_absolute(const char *name, char **ret, struct error *err)
{
	auto_free char *folder = *name == '/' ? strdup("") : getcwd(NULL, 0);
	char *path;
	size_t length;

	if (!folder || asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		return error_no_memory(err);
	for (length = strlen(path); length > 1 && path[length - 1] == '/';)
		path[--length] = 0;
	*ret = path;
	return 0;
}

struct mounted_wanted {
	dev_t device;
	struct mounted *ret;
};

static int mounted_match(void *argument, const struct mounted *mounted, struct error *err)
{
	struct mounted_wanted *wanted = argument;
	int r;

	if (mounted->device != wanted->device)
		return 0;
	r = mounted_copy(mounted, wanted->ret, err);
	return r < 0 ? r : 1;
}

static int mounted_find(dev_t device, struct mounted *ret, struct error *err)
{
	struct mounted_wanted wanted = { device, ret };
	int r = mounted_each(mounted_match, &wanted, err);

	if (r == 0)
		return error_set(err, -ENOENT, "not on a datasetfs mount");
	return r < 0 ? r : 0;
}

static int mounted_device(const char *path, int flags, dev_t *ret, struct error *err)
{
	struct statx info;

	if (statx(AT_FDCWD, path, flags, STATX_TYPE, &info) < 0)
		return leftover_error(errno, path, err);
	*ret = makedev(info.stx_dev_major, info.stx_dev_minor);
	return 0;
}

/* A switch by the kernel may end between the two looks: then another device is there. */
int mounted_at(const char *path, int flags, struct mounted *ret, struct error *err)
{
	dev_t device, now;
	int r = mounted_device(path, flags, &device, err);

	step("mount-looked");
	while (r == 0) {
		r = mounted_find(device, ret, err);
		if (r != -ENOENT || mounted_device(path, flags, &now, NULL) < 0 || now == device)
			break;
		device = now;
		r = 0;
	}
	return r;
}

bool mounted_reach(const char *volume, char **ret)
{
	if (!naming_is_reachable(volume))
		return false;
	if (naming_is_one(volume))
		return locate_path(volume, ret, NULL) == 0;
	*ret = strdup(volume);
	return *ret;
}

int mounted_volume(const char *source, char **ret, struct error *err)
{
	auto_free char *volume = strdup(source);
	char *at;

	if (!volume)
		return error_no_memory(err);
	/* Both a path and a label may contain '@': the longest path that exists is meant. */
	while (!mounted_reach(volume, ret)) {
		at = strrchr(volume, '@');
		if (!at)
			return error_set(err, -ENOENT, "there is no '%s', which was mounted: it was renamed or "
					 "deleted, or is not visible here", source);
		*at = 0;
	}
	return 0;
}
