/* SPDX-License-Identifier: MIT */
/* The order of an attach: look at the place; in the machine's namespace lock the key, find or start the mount, and copy
 * it; back in the caller's, put the copy on the place. A detach goes the other way. Killed between any two of these
 * steps, either leaves what the next call of it finds and goes on with. */
#include "attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/health.h"
#include "attach/instance.h"
#include "attach/launch.h"
#include "attach/machine.h"
#include "attach/place.h"
#include "attach/reap.h"
#include "base/cleanup.h"
#include "base/program/step.h"

struct attach {
	const struct key *key; /* of attach_to() alone */
	struct place place;
	struct machine machine;
	char name[KEY_NAME_SIZE]; /* of the key */
	int state, lock;          /* folder of the state, and that of the key, locked; -1: not open */
	struct instance instance;
	dev_t device;             /* of its filesystem */
	int tree;                 /* a copy of its mount */
};

#define ATTACH_NONE \
	((struct attach){ .place = PLACE_NONE, .machine = MACHINE_NONE, .state = -1, .lock = -1, .tree = -1 })

static void attach_close(struct attach *attach)
{
	machine_leave(&attach->machine);
	place_close(&attach->place);
	close_fd(&attach->tree);
	close_fd(&attach->lock);
	close_fd(&attach->state);
}

/* ---- the mount ---- */

/* Checks that a mount serves what the key says: somebody may have switched it to another version. */
static int attach_check(const struct attach *attach, const struct instance *instance, struct error *err)
{
	struct dsfs_version_facts facts;
	int r = health_ask(instance->mount, &facts, err);

	if (r == 0 && !attach->key->follows && memcmp(facts.uuid, attach->key->uuid, sizeof(facts.uuid)) != 0)
		r = error_set(err, -ESTALE, "it serves another version by now, '%s'", facts.label);
	return r;
}

/* Finds what there is of an instance. If somebody has stopped the daemon, it is not mounted any more, but kept. */
static int attach_find(struct attach *attach, const struct instance *instance, bool *ret_is_mounted, bool *ret_is_kept,
		       struct error *err)
{
	auto_uses struct uses uses = { 0 };
	const struct use *mount;
	int r = uses_read(&uses, err);

	if (r < 0)
		return r;
	mount = uses_find(&uses, USE_MOUNT, instance->key, instance->number);
	if (mount)
		attach->device = mount->device;
	*ret_is_mounted = mount;
	*ret_is_kept = uses_find(&uses, USE_KEPT, instance->key, instance->number);
	return 0;
}

static int attach_accept(struct attach *attach, const struct instance *instance, struct error *err)
{
	bool is_mounted = false, is_kept = false;
	int r = attach_find(attach, instance, &is_mounted, &is_kept, err);

	if (r == 0 && !is_mounted)
		r = error_set(err, -EIO, "the daemon is ready, but nothing is mounted on '%s'", instance->mount);
	if (r == 0)
		r = attach_check(attach, instance, err);
	return r < 0 ? r : instance_keep(instance, err);
}

/* Lets go of the key's lock while the daemon begins, which takes minutes for a large index: the consumers of a dead
 * mount of this key can be detached meanwhile. Others see by the lock of instance_begin() that there is one to come. */
static int attach_start(struct attach *attach, const struct instance *instance, struct error *err)
{
	auto_close int starting = -1;
	int r = instance_make(instance, err), locked;

	if (r == 0)
		r = instance_begin(instance, &starting, err);
	if (r < 0)
		return r;
	close_fd(&attach->lock);
	r = launch_start(instance, attach->key, starting, err);
	locked = state_lock(attach->state, attach->name, true, &attach->lock, r < 0 ? NULL : err);
	if (locked < 0)
		return r < 0 ? r : locked;
	if (r == 0)
		r = attach_accept(attach, instance, err);
	if (r < 0)
		instance_end(instance);
	return r;
}

/* A search for a mount of the key that serves. */
struct attach_search {
	struct attach *attach;
	unsigned highest; /* number so far */
	unsigned unused;  /* one of a folder that has no mount; 0: none */
	unsigned begins;  /* one of a mount that is to come; 0: none */
};

/* Takes the instance if it serves: 1. Otherwise it is dead, hangs, serves something else, or is not mounted. */
static int attach_try(void *argument, const char *name, struct error *err)
{
	struct attach_search *search = argument;
	struct instance instance = instance_of(search->attach->name, (unsigned)strtoul(name, NULL, 10));
	bool is_mounted = false, is_kept = false;
	int r;

	if (instance.number > search->highest)
		search->highest = instance.number;
	if (instance_begins(&instance)) {
		search->begins = instance.number;
		return 0;
	}
	r = attach_find(search->attach, &instance, &is_mounted, &is_kept, err);
	if (r < 0)
		return r;
	if (!is_mounted && !is_kept)
		search->unused = instance.number;
	if (!is_mounted || attach_check(search->attach, &instance, NULL) < 0)
		return 0;
	search->attach->instance = instance;
	r = is_kept ? 0 : instance_keep(&instance, err);
	return r < 0 ? r : 1;
}

/* Waits for a daemon that another attach has started, which may have been killed. */
static int attach_await(struct attach *attach, unsigned number, struct error *err)
{
	struct instance instance = instance_of(attach->name, number);
	int r;

	close_fd(&attach->lock);
	r = instance_await(&instance, err);
	return r < 0 ? r : state_lock(attach->state, attach->name, true, &attach->lock, err);
}

static int attach_choose(struct attach *attach, struct error *err)
{
	struct attach_search search;
	int r;

	do {
		search = (struct attach_search){ .attach = attach };
		r = state_each(attach->lock, attach_try, &search, err);
		if (r == 0 && search.begins)
			r = attach_await(attach, search.begins, err);
	} while (r == 0 && search.begins);
	if (r != 0)
		return r < 0 ? r : 0;
	attach->instance = instance_of(attach->name, search.unused ? search.unused : search.highest + 1);
	return attach_start(attach, &attach->instance, err);
}

static int attach_mount(struct attach *attach, struct key *key, struct error *err)
{
	int r = key_resolve(key, err);

	if (r == 0)
		r = key_name(key, attach->name, err);
	if (r == 0)
		r = state_open(&attach->state, err);
	if (r < 0)
		return r;
	reap_others(attach->state, attach->name);
	r = state_lock(attach->state, attach->name, true, &attach->lock, err);
	step("attach-locked");
	if (r < 0)
		return r;
	r = attach_choose(attach, err);
	step("attach-mounted");
	if (r < 0 && attach->lock >= 0)
		state_drop(attach->state, attach->name);
	if (r == 0 && attach->machine.number)
		r = instance_hold(&attach->instance, attach->machine.number, err);
	return r < 0 ? r : instance_clone(&attach->instance, &attach->tree, err);
}

/* ---- the place ---- */

/* Finds what is mounted at the place, and which of the machine's mounts that is: *ret_key is empty if it is none. */
static int attach_look(const struct attach *attach, const struct uses *machine, struct use *ret, struct error *err)
{
	auto_uses struct uses own = { 0 };
	const struct use *there, *shared;
	struct statx info;
	int r = uses_read(&own, err);

	*ret = (struct use){ .kind = USE_COPY };
	there = r == 0 ? uses_at(&own, attach->place.path) : NULL;
	if (!there)
		return r;
	/* DONT_SYNC: the kernel answers, even if the daemon is dead. */
	if (statx(attach->place.directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) < 0)
		return error_errno(err, "cannot look at '%s'", attach->place.path);
	if (makedev(info.stx_dev_major, info.stx_dev_minor) != there->device)
		return error_set(err, -EBUSY, "another filesystem covers the data set on '%s': unmount it first",
				 attach->place.path);
	ret->kind = USE_PLACE;
	ret->device = there->device;
	ret->is_part = there->is_part;
	shared = uses_shared(machine, there->device);
	if (shared && !there->is_part) {
		memcpy(ret->key, shared->key, sizeof(ret->key));
		ret->number = shared->number;
	}
	return 0;
}

/* Whether what attach_look() has found is the mount of this attach. */
static bool attach_is_there(const struct attach *attach, const struct use *there)
{
	return there->kind == USE_PLACE && there->device == attach->device && !there->is_part;
}

static bool attach_is_dead(const char *mount)
{
	struct dsfs_version_facts facts;

	return health_ask(mount, &facts, NULL) == -ENOTCONN;
}

/* Takes away what is at the place, if that is an unusable mount of this key or a dead one of another. */
static int attach_clear(struct attach *attach, const struct use *there, struct error *err)
{
	int r;

	if (!there->key[0] || (strcmp(there->key, attach->name) != 0 && !attach_is_dead(attach->place.path)))
		return error_set(err, -EBUSY, "another data set is mounted on '%s': '%s %s' ends that",
				 attach->place.path, there->key[0] ? "datasetfsctl detach" : "umount",
				 attach->place.path);
	r = place_uncover(&attach->place, err);
	return r < 0 ? r : place_renew(&attach->place, err);
}

static int attach_bind(struct attach *attach, const struct uses *machine, struct error *err)
{
	struct use there = { 0 };
	int r = place_renew(&attach->place, err);

	if (r == 0)
		r = attach_look(attach, machine, &there, err);
	if (r == 0 && attach_is_there(attach, &there))
		return 0;
	if (r == 0 && there.kind == USE_PLACE)
		r = attach_clear(attach, &there, err);
	return r < 0 ? r : place_cover(&attach->place, attach->tree, err);
}

/* ---- without a consumer ---- */

/* Counts what the caller's namespace has of a filesystem beside the machine's own mounts. */
static size_t attach_count_own(dev_t device)
{
	auto_uses struct uses own = { 0 };
	size_t count = 0;

	if (uses_read(&own, NULL) < 0)
		return 1;
	for (size_t i = 0; i < own.count; i++)
		count += own.items[i].device == device && own.items[i].kind == USE_PLACE;
	return count;
}

/* Called in the caller's namespace when that has the mount at one place less: ends the mount if it has no consumer. A
 * failure leaves it for reap_others(). */
static void attach_release(struct attach *attach)
{
	uint64_t namespace = attach->machine.number;
	auto_uses struct uses uses = { 0 };

	if ((namespace && attach_count_own(attach->device)) || machine_enter(&attach->machine, NULL) < 0)
		return;
	if (namespace)
		instance_unhold(&attach->instance, namespace);
	if (uses_read(&uses, NULL) == 0 && !uses_count(&uses, attach->device)) {
		instance_end(&attach->instance);
		state_drop(attach->state, attach->name);
	}
	machine_leave(&attach->machine);
}

/* ---- attach ---- */

/* Everything that is done in the machine's namespace. *ret_places: the lock of the places. */
static int attach_prepare(struct attach *attach, struct key *key, struct uses *ret_machine, int *ret_places,
			  struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = attach_mount(attach, key, err);
	if (r == 0)
		r = state_lock_places(ret_places, err);
	if (r == 0)
		r = uses_read(ret_machine, err);
	machine_leave(&attach->machine);
	return r;
}

static int attach_refuse_users(struct error *err)
{
	return geteuid() == 0 ? 0 : error_set(err, -EPERM, "a shared mount is the machine's: only root can do that");
}

int attach_to(struct key *key, const char *target, struct error *err)
{
	cleanup(attach_close) struct attach attach = ATTACH_NONE;
	auto_uses struct uses machine = { 0 };
	auto_close int places = -1;
	int r = attach_refuse_users(err);

	attach.key = key;
	if (r == 0)
		r = place_open(target, &attach.place, err);
	if (r == 0)
		r = attach_prepare(&attach, key, &machine, &places, err);
	if (r < 0)
		return r;
	r = attach_bind(&attach, &machine, err);
	step("attach-bound");
	close_fd(&places);
	if (r < 0)
		attach_release(&attach);
	else if (!attach.machine.number) /* otherwise it is left to reap_others() */
		reap_key(attach.lock, attach.name, attach.instance.number);
	return r;
}

/* ---- detach ---- */

/* Finds the machine's mount that is at the place. *ret_was: false: there is none. */
static int attach_recognise(struct attach *attach, bool *ret_was, struct uses *machine, struct error *err)
{
	struct use there = { 0 };
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = uses_read(machine, err);
	machine_leave(&attach->machine);
	if (r == 0)
		r = attach_look(attach, machine, &there, err);
	*ret_was = r == 0 && there.kind == USE_PLACE;
	if (!*ret_was)
		return r;
	if (!there.key[0])
		return error_set(err, -EINVAL, "the mount on '%s' was not attached: 'umount %s' ends it",
				 attach->place.path, attach->place.path);
	memcpy(attach->name, there.key, sizeof(attach->name));
	attach->instance = instance_of(there.key, there.number);
	attach->device = there.device;
	return 0;
}

static int attach_lock_places(struct attach *attach, int *ret_places, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = state_lock_places(ret_places, err);
	machine_leave(&attach->machine);
	return r;
}

/* Takes the mount away from the place, where it may not be any more. Needs no lock of the key, so nobody who has that
 * keeps the place covered. */
static int attach_uncover(struct attach *attach, const struct uses *machine, struct error *err)
{
	auto_close int places = -1;
	struct use there = { 0 };
	int r = attach_lock_places(attach, &places, err);

	if (r == 0)
		r = place_renew(&attach->place, err);
	if (r == 0)
		r = attach_look(attach, machine, &there, err);
	if (r == 0 && attach_is_there(attach, &there))
		r = place_uncover(&attach->place, err);
	return r;
}

static int attach_lock(struct attach *attach, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = state_open(&attach->state, err);
	if (r == 0) {
		reap_others(attach->state, attach->name);
		r = state_lock(attach->state, attach->name, true, &attach->lock, err);
	}
	machine_leave(&attach->machine);
	return r;
}

int attach_detach(const char *target, bool *ret_was, struct error *err)
{
	cleanup(attach_close) struct attach attach = ATTACH_NONE;
	auto_uses struct uses machine = { 0 };
	bool was = false;
	int r = attach_refuse_users(err);

	if (r == 0)
		r = place_open(target, &attach.place, err);
	if (r == 0)
		r = attach_recognise(&attach, &was, &machine, err);
	if (r == 0 && was)
		r = attach_uncover(&attach, &machine, err);
	step("detach-uncovered");
	if (r == 0 && was)
		r = attach_lock(&attach, err);
	if (r < 0)
		return r;
	if (was)
		attach_release(&attach);
	*ret_was = was;
	return 0;
}

/* ---- all of them ---- */

int attach_reap(struct error *err)
{
	cleanup(attach_close) struct attach attach = ATTACH_NONE;
	int r = attach_refuse_users(err);

	if (r == 0)
		r = machine_enter(&attach.machine, err);
	if (r == 0)
		r = state_open(&attach.state, err);
	if (r == 0)
		reap_all(attach.state);
	return r;
}

static int attach_show(const struct uses *uses, const struct census *census, const struct use *mount,
		       attach_visit *visit, void *argument, struct error *err)
{
	struct attach_view view = { .mount = mount, .uses = uses, .census = census };

	view.code = health_ask(mount->point, &view.serves, &view.reason);
	return visit(argument, &view, err);
}

int attach_each(attach_visit *visit, void *argument, struct error *err)
{
	auto_uses struct uses uses = { 0 };
	auto_census struct census census = { 0 };
	struct machine machine = MACHINE_NONE;
	int r = machine_enter(&machine, err);

	if (r == 0)
		r = uses_read(&uses, err);
	if (r == 0 && geteuid() == 0)
		r = census_take(&census, err);
	for (size_t i = 0; r == 0 && i < uses.count; i++)
		if (uses_shared(&uses, uses.items[i].device) == &uses.items[i])
			r = attach_show(&uses, &census, &uses.items[i], visit, argument, err);
	machine_leave(&machine);
	return r;
}
