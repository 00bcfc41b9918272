/* SPDX-License-Identifier: MIT */
/* The order of an attach: lock the place and look at it; in the machine's namespace lock the key, find or start the
 * mount, and copy it; back in the caller's, put the copy on the place. A detach first takes the place, lets go of it,
 * and then the key. Killed between any two of these steps, either leaves what the next call of it finds and goes on
 * with. */
#include "attach/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "attach/health.h"
#include "attach/instance.h"
#include "attach/launch.h"
#include "attach/limit.h"
#include "attach/machine.h"
#include "attach/place.h"
#include "attach/reap.h"
#include "base/cleanup.h"
#include "base/grow.h"
#include "base/program/step.h"

struct attach {
	const struct key *key; /* of attach_to() alone */
	struct place place;
	struct machine machine;
	char name[KEY_NAME_SIZE]; /* of the key */
	int state, lock;          /* folder of the state, and that of the key, locked; -1: not open */
	int places;               /* the file of places, with the lock of this one */
	struct instance instance;
	dev_t device;             /* of its filesystem */
	int tree;                 /* a copy of its mount */
};

#define ATTACH_NONE                                                                                           \
	((struct attach){ .place = PLACE_NONE, .machine = MACHINE_NONE, .state = -1, .lock = -1, .places = -1, \
			  .tree = -1 })

static void attach_close(struct attach *attach)
{
	machine_leave(&attach->machine);
	place_close(&attach->place);
	close_fd(&attach->tree);
	close_fd(&attach->lock);
	close_fd(&attach->places);
	close_fd(&attach->state);
}

/* ---- the mount ---- */

/* Whether a mount serves what the key asks for: it may have been switched since, or a key of a signer revoked. */
static bool attach_serves(const void *argument, const struct health *health)
{
	const struct key *key = argument;

	return health->code == 0 && key_is_served(key, health->facts.uuid, health->facts.digest);
}

/* Looks at a mount that has begun to serve just now. If it follows, its daemon has made all checks. */
static int attach_check(const struct attach *attach, const struct instance *instance, struct error *err)
{
	struct health health = { .mount = instance->mount };

	health_ask_all(&health, 1, NULL, NULL);
	if (health.code < 0)
		return error_pass(err, health.code, &health.reason);
	return attach->key->follows || attach_serves(attach->key, &health) ? 0 :
		       error_set(err, -ESTALE, "it serves another version by now, '%s'", health.facts.label);
}

static int attach_accept(struct attach *attach, const struct instance *instance, struct error *err)
{
	auto_uses struct uses uses = { 0 };
	const struct use *mount;
	int r = uses_read(&uses, err);

	if (r < 0)
		return r;
	mount = uses_find(&uses, USE_MOUNT, instance->key, instance->number);
	if (!mount)
		return error_set(err, -EIO, "the daemon is ready, but nothing is mounted on '%s'", instance->mount);
	attach->device = mount->device;
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
	if (r == 0)
		r = launch_prepare(instance, attach->key, err);
	if (r == 0)
		r = limit_check(attach->state, attach->name, attach->key, err);
	if (r < 0) {
		instance_end(instance);
		return r;
	}
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
	const struct attach *attach;
	struct instance *items; /* all that there are */
	struct health *health;  /* of each; one that has no mount has no answer either */
	size_t count;
	unsigned unused; /* number of a folder that has no mount, or of none */
	unsigned begins; /* number of a mount that is to come; 0: none */
	struct uses uses;
};

static void attach_end_search(struct attach_search *search)
{
	uses_free(&search->uses);
	free(search->items);
	free(search->health);
}

static int attach_add(void *argument, const char *name, struct error *err)
{
	struct attach_search *search = argument;
	struct instance instance = instance_of(search->attach->name, (unsigned)strtoul(name, NULL, 10));
	int r = grow_one(search->items, search->count, err);

	if (r < 0)
		return r;
	search->items[search->count++] = instance;
	if (instance.number >= search->unused)
		search->unused = instance.number + 1;
	if (instance_begins(&instance))
		search->begins = instance.number;
	return 0;
}

/* Asks all mounts of the key at once. A mount with a stopped daemon is no longer used, but kept. */
static void attach_ask(struct attach_search *search)
{
	size_t mounted = 0;

	for (size_t i = 0; i < search->count; i++) {
		const struct instance *instance = &search->items[i];

		if (uses_find(&search->uses, USE_MOUNT, instance->key, instance->number))
			search->items[mounted++] = *instance;
		else if (!uses_find(&search->uses, USE_KEPT, instance->key, instance->number))
			search->unused = instance->number;
	}
	search->count = mounted;
	for (size_t i = 0; i < mounted; i++)
		search->health[i] = (struct health){ .mount = search->items[i].mount };
	health_ask_all(search->health, mounted, attach_serves, search->attach->key);
}

/* Takes the first that serves: 1. The others are dead, hang, serve something else, or are not mounted. */
static int attach_take(struct attach *attach, const struct attach_search *search, struct error *err)
{
	size_t i = 0;
	int r = 0;

	while (i < search->count && !attach_serves(attach->key, &search->health[i]))
		i++;
	if (i == search->count)
		return 0;
	attach->instance = search->items[i];
	attach->device = uses_find(&search->uses, USE_MOUNT, attach->name, attach->instance.number)->device;
	if (!uses_find(&search->uses, USE_KEPT, attach->name, attach->instance.number))
		r = instance_keep(&attach->instance, err);
	return r < 0 ? r : 1;
}

/* Looks for a mount: 1 if one serves. Otherwise *ret_begins is the number of one that is to come, or 0, and *ret_unused
 * that of a new one. */
static int attach_find(struct attach *attach, unsigned *ret_begins, unsigned *ret_unused, struct error *err)
{
	cleanup(attach_end_search) struct attach_search search = { .attach = attach, .unused = 1 };
	int r = runtime_each(attach->lock, attach_add, &search, err);

	*ret_begins = search.begins;
	if (r < 0 || search.begins)
		return r;
	search.health = calloc(search.count + 1, sizeof(*search.health));
	r = search.health ? uses_read(&search.uses, err) : error_no_memory(err); /* after instance_begins() */
	if (r < 0)
		return r;
	attach_ask(&search);
	*ret_unused = search.unused;
	return attach_take(attach, &search, err);
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
	unsigned begins, unused = 1;
	int r;

	while ((r = attach_find(attach, &begins, &unused, err)) == 0 && begins) {
		r = attach_await(attach, begins, err);
		if (r < 0)
			return r;
	}
	if (r != 0)
		return r < 0 ? r : 0;
	attach->instance = instance_of(attach->name, unused);
	return attach_start(attach, &attach->instance, err);
}

/* Finds or makes the mount, in the machine's namespace. The place is locked, but nothing here touches it, so a dead
 * mount there delays no other attach. */
static int attach_mount(struct attach *attach, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r < 0)
		return r;
	reap_others(attach->state, attach->name);
	r = state_lock(attach->state, attach->name, true, &attach->lock, err);
	step("attach-locked");
	if (r == 0)
		r = attach_choose(attach, err);
	step("attach-mounted");
	if (r < 0 && attach->lock >= 0)
		state_drop(attach->state, attach->name);
	if (r == 0 && attach->machine.number)
		r = instance_hold(&attach->instance, attach->machine.number, err);
	if (r == 0)
		r = instance_clone(&attach->instance, &attach->tree, err);
	machine_leave(&attach->machine);
	return r;
}

/* ---- the place ---- */

/* The mounts that two namespaces see: that of the machine, and the caller's, which may be the same. */
struct attach_tables {
	struct uses machine, other;
	const struct uses *own;
};

static void attach_free_tables(struct attach_tables *tables)
{
	uses_free(&tables->machine);
	uses_free(&tables->other);
}

static int attach_read_tables(struct attach *attach, struct attach_tables *ret, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = uses_read(&ret->machine, err);
	machine_leave(&attach->machine);
	if (r == 0 && attach->machine.number)
		r = uses_read(&ret->other, err);
	ret->own = attach->machine.number ? &ret->other : &ret->machine;
	return r;
}

/* Finds the mount at the place, and its key if it is one of the machine's shared mounts; else *ret_key is empty. */
static int attach_look(const struct attach *attach, const struct attach_tables *tables, struct use *ret,
		       struct error *err)
{
	const struct use *there = uses_at(tables->own, attach->place.path), *shared;
	struct statx info;

	*ret = (struct use){ .kind = USE_COPY };
	if (!there)
		return 0;
	/* DONT_SYNC: the kernel answers, even if the daemon is dead. */
	if (statx(attach->place.directory, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info) < 0)
		return error_errno(err, "cannot look at '%s'", attach->place.path);
	if (makedev(info.stx_dev_major, info.stx_dev_minor) != there->device)
		return error_set(err, -EBUSY, "another filesystem covers the data set on '%s': unmount it first",
				 attach->place.path);
	ret->kind = USE_PLACE;
	ret->device = there->device;
	ret->is_part = there->is_part;
	shared = uses_shared(&tables->machine, there->device);
	if (shared && !there->is_part) {
		memcpy(ret->key, shared->key, sizeof(ret->key));
		ret->number = shared->number;
	}
	return 0;
}

/* Whether attach_look() has found the mount of this attach. */
static bool attach_is_there(const struct attach *attach, const struct use *there)
{
	return there->kind == USE_PLACE && there->device == attach->device && !there->is_part;
}

/* Asks the machine's mount: one by the kernel has its record under that, not under the copy at the place. */
static bool attach_is_dead(struct attach *attach, const struct use *shared)
{
	struct dsfs_version_facts facts;
	int r = machine_enter(&attach->machine, NULL);

	if (r == 0)
		r = health_ask(shared->point, &facts, NULL);
	machine_leave(&attach->machine);
	return r == -ENOTCONN;
}

static int attach_uncover(struct attach *attach, struct error *err)
{
	int r = place_uncover(&attach->place, err);

	return r < 0 ? r : place_renew(&attach->place, err);
}

/* Makes the place free, unless a mount of this key is there: of another one a dead mount goes. */
static int attach_clear(struct attach *attach, const struct attach_tables *tables, struct use *there, struct error *err)
{
	const struct use *shared = there->key[0] ? uses_shared(&tables->machine, there->device) : NULL;

	if (there->kind != USE_PLACE || !strcmp(there->key, attach->name))
		return 0;
	if (!shared || !attach_is_dead(attach, shared))
		return error_set(err, -EBUSY, "another data set is mounted on '%s': '%s %s' ends that",
				 attach->place.path, shared ? "datasetfsctl detach" : "umount",
				 attach->place.path);
	there->kind = USE_COPY;
	return attach_uncover(attach, err);
}

/* Looks at the locked place: *ret describes the mount of this key there. */
static int attach_examine(struct attach *attach, struct use *ret, struct error *err)
{
	cleanup(attach_free_tables) struct attach_tables tables = { 0 };
	int r = place_renew(&attach->place, err);

	if (r == 0)
		r = attach_read_tables(attach, &tables, err);
	if (r == 0)
		r = attach_look(attach, &tables, ret, err);
	return r < 0 ? r : attach_clear(attach, &tables, ret, err);
}

/* Puts the copy on the place, unless its mount is there. What else is there is an unusable mount of this key. */
static int attach_bind(struct attach *attach, const struct use *there, struct error *err)
{
	int r = 0;

	if (attach_is_there(attach, there))
		return 0;
	if (there->kind == USE_PLACE)
		r = attach_uncover(attach, err);
	return r < 0 ? r : place_cover(&attach->place, attach->tree, err);
}

/* ---- without a consumer ---- */

/* Counts the mounts of a filesystem in the caller's namespace, except the machine's own. */
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

	if ((namespace && attach_count_own(attach->device)) || machine_enter(&attach->machine, NULL) < 0)
		return;
	if (namespace)
		instance_unhold(&attach->instance, namespace);
	reap_one(&attach->instance, attach->device);
	state_drop(attach->state, attach->name);
	machine_leave(&attach->machine);
}

/* ---- attach ---- */

/* Opens the files that an attach needs in the machine's namespace, before the place is locked. */
static int attach_prepare(struct attach *attach, struct key *key, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = key_resolve(key, err);
	if (r == 0)
		r = key_name(key, attach->name, err);
	if (r == 0)
		r = runtime_open(STATE_NAME, &attach->state, err);
	if (r == 0)
		r = runtime_open_places(&attach->places, err);
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
	struct use there = { 0 };
	int r = attach_refuse_users(err);

	attach.key = key;
	if (r == 0)
		r = place_open(target, &attach.place, err);
	if (r == 0)
		r = attach_prepare(&attach, key, err);
	if (r == 0)
		r = place_lock(&attach.place, attach.places, err);
	if (r == 0)
		r = attach_examine(&attach, &there, err);
	if (r == 0)
		r = attach_mount(&attach, err);
	if (r < 0)
		return r;
	r = attach_bind(&attach, &there, err);
	step("attach-bound");
	if (r < 0)
		attach_release(&attach);
	else if (!attach.machine.number) /* otherwise it is left to reap_others() */
		reap_key(attach.lock, attach.name, attach.instance.number);
	return r;
}

/* ---- detach ---- */

/* Finds the machine's mount that is at the place. *ret_was: false: there is none. */
static int attach_recognise(struct attach *attach, bool *ret_was, struct error *err)
{
	cleanup(attach_free_tables) struct attach_tables tables = { 0 };
	struct use there = { 0 };
	int r = attach_read_tables(attach, &tables, err);

	if (r == 0)
		r = attach_look(attach, &tables, &there, err);
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

/* Takes the mount away from the place, if it is still there. Takes no lock of the key, so it never waits for another
 * attach. */
static int attach_withdraw(struct attach *attach, struct error *err)
{
	cleanup(attach_free_tables) struct attach_tables tables = { 0 };
	struct use there = { 0 };
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = runtime_open_places(&attach->places, err);
	machine_leave(&attach->machine);
	if (r == 0)
		r = place_lock(&attach->place, attach->places, err);
	if (r == 0)
		r = place_renew(&attach->place, err);
	if (r == 0)
		r = attach_read_tables(attach, &tables, err);
	if (r == 0)
		r = attach_look(attach, &tables, &there, err);
	if (r == 0 && attach_is_there(attach, &there))
		r = place_uncover(&attach->place, err);
	close_fd(&attach->places);
	return r;
}

static int attach_lock(struct attach *attach, struct error *err)
{
	int r = machine_enter(&attach->machine, err);

	if (r == 0)
		r = runtime_open(STATE_NAME, &attach->state, err);
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
	bool was = false;
	int r = attach_refuse_users(err);

	if (r == 0)
		r = place_open(target, &attach.place, err);
	if (r == 0)
		r = attach_recognise(&attach, &was, err);
	if (r == 0 && was)
		r = attach_withdraw(&attach, err);
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
		r = runtime_open(STATE_NAME, &attach.state, err);
	if (r == 0)
		reap_all(attach.state);
	return r;
}

/* The mounts, each once, and their answers. */
struct attach_all {
	struct uses uses;
	struct census census;
	const struct use **mounts;
	struct health *health;
	size_t count;
};

static void attach_free_all(struct attach_all *all)
{
	uses_free(&all->uses);
	census_free(&all->census);
	free(all->mounts);
	free(all->health);
}

static int attach_ask_all(struct attach_all *all, struct error *err)
{
	all->mounts = calloc(all->uses.count + 1, sizeof(*all->mounts));
	all->health = calloc(all->uses.count + 1, sizeof(*all->health));
	if (!all->mounts || !all->health)
		return error_no_memory(err);
	for (size_t i = 0; i < all->uses.count; i++) {
		const struct use *use = &all->uses.items[i];

		if (uses_shared(&all->uses, use->device) != use)
			continue;
		all->health[all->count].mount = use->point;
		all->mounts[all->count++] = use;
	}
	health_ask_all(all->health, all->count, NULL, NULL);
	return 0;
}

static int attach_show(const struct attach_all *all, size_t i, attach_visit *visit, void *argument, struct error *err)
{
	const struct attach_view view = {
		.mount = all->mounts[i],
		.uses = &all->uses,
		.census = &all->census,
		.serves = all->health[i].facts,
		.code = all->health[i].code,
		.reason = all->health[i].reason,
	};

	return visit(argument, &view, err);
}

int attach_each(attach_visit *visit, void *argument, struct error *err)
{
	cleanup(attach_free_all) struct attach_all all = { 0 };
	struct machine machine = MACHINE_NONE;
	int r = machine_enter(&machine, err);

	if (r == 0)
		r = uses_read(&all.uses, err);
	if (r == 0 && geteuid() == 0)
		r = census_take(&all.census, err);
	if (r == 0)
		r = attach_ask_all(&all, err);
	for (size_t i = 0; r == 0 && i < all.count; i++)
		r = attach_show(&all, i, visit, argument, err);
	machine_leave(&machine);
	return r;
}
