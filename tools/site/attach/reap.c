/* SPDX-License-Identifier: MIT */
/* Goes through the folders of the state, and looks each up in the table of mounts. */
#include "attach/reap.h"

#include <stdlib.h>
#include <string.h>

#include "attach/census.h"
#include "attach/instance.h"
#include "base/cleanup.h"

#define REAP_AGE 600 /* seconds */

struct reap {
	int state;
	const char *key;       /* not this one */
	struct uses uses;      /* read when first needed, before the lock of a key */
	struct census census;  /* the same */
	bool has_uses;
	bool is_fresh;         /* the census is not older than the lock of the key */
	const char *of;        /* the key that is looked at */
	unsigned except;
	int64_t age;           /* of a mount without consumers, to be ended */
	bool wait;             /* for those who are at work */
};

/* Whether a namespace has no processes left. Another one may have got its number since, so the census that says so must
 * not be older than the lock. One that finds somebody may be: so all keys need one census, and one more for each that
 * has something to reap. */
static bool reap_is_over(struct reap *reap, uint64_t namespace)
{
	if (census_process(&reap->census, namespace))
		return false;
	if (!reap->is_fresh) {
		census_free(&reap->census);
		reap->is_fresh = census_take(&reap->census, NULL) == 0;
	}
	return reap->is_fresh && !census_process(&reap->census, namespace);
}

static int reap_read_uses(struct reap *reap)
{
	int r = reap->has_uses ? 0 : uses_read(&reap->uses, NULL);

	reap->has_uses = r == 0;
	return r;
}

/* Undoes the holds of an instance whose namespace is gone. True: there was one. */
static bool reap_holds(struct reap *reap, const struct instance *instance)
{
	bool found = false;

	for (size_t i = 0; i < reap->uses.count; i++) {
		const struct use *use = &reap->uses.items[i];

		if (use->kind != USE_HOLD || use->number != instance->number || strcmp(use->key, instance->key) != 0 ||
		    !reap_is_over(reap, use->namespace))
			continue;
		instance_unhold(instance, use->namespace);
		found = true;
	}
	return found;
}

/* NULL: nothing is mounted. */
static const struct use *reap_mount(const struct uses *uses, const struct instance *instance)
{
	const struct use *kept = uses_find(uses, USE_KEPT, instance->key, instance->number);

	return kept ? kept : uses_find(uses, USE_MOUNT, instance->key, instance->number);
}

static bool reap_is_used(const struct uses *uses, const struct instance *instance)
{
	const struct use *mount = reap_mount(uses, instance);

	return mount && uses_count(uses, mount->device);
}

/* Looks again, as the table may be older than the lock. has_ended: it had a consumer. */
static bool reap_is_due(const struct reap *reap, const struct instance *instance, bool has_ended)
{
	auto_uses struct uses uses = { 0 };

	if (uses_read(&uses, NULL) < 0 || reap_is_used(&uses, instance))
		return false;
	return has_ended || !reap_mount(&uses, instance) || instance_age(instance) >= reap->age;
}

static int reap_instance(void *argument, const char *name, struct error *err)
{
	struct reap *reap = argument;
	struct instance instance = instance_of(reap->of, (unsigned)strtoul(name, NULL, 10));
	bool has_ended;

	(void)err;
	if (!instance.number || instance.number == reap->except || reap_read_uses(reap) < 0)
		return 0;
	has_ended = reap_holds(reap, &instance);
	if (!has_ended && reap_is_used(&reap->uses, &instance))
		return 0;
	if (reap_is_due(reap, &instance, has_ended) && !instance_begins(&instance))
		instance_end(&instance);
	return 0;
}

static int reap_other(void *argument, const char *name, struct error *err)
{
	struct reap *reap = argument;
	auto_close int lock = -1;

	(void)err;
	if (!strcmp(name, reap->key) || reap_read_uses(reap) < 0 ||
	    state_lock(reap->state, name, reap->wait, &lock, NULL) < 0)
		return 0;
	reap->of = name;
	reap->is_fresh = false;
	(void)!runtime_each(lock, reap_instance, reap, NULL);
	state_drop(reap->state, name);
	return 0;
}

static void reap_keys(struct reap reap)
{
	(void)!runtime_each(reap.state, reap_other, &reap, NULL);
	uses_free(&reap.uses);
	census_free(&reap.census);
}

void reap_one(const struct instance *instance, dev_t device)
{
	auto_uses struct uses uses = { 0 };
	const struct use *mount;

	if (uses_read(&uses, NULL) < 0 || uses_count(&uses, device))
		return;
	mount = reap_mount(&uses, instance);
	if ((!mount || mount->device == device) && !instance_begins(instance))
		instance_end(instance);
}

void reap_others(int state, const char *key)
{
	reap_keys((struct reap){ .state = state, .key = key, .age = REAP_AGE });
}

void reap_all(int state)
{
	reap_keys((struct reap){ .state = state, .key = "", .wait = true });
}

void reap_key(int lock, const char *key, unsigned except)
{
	struct reap reap = { .of = key, .except = except };

	(void)!runtime_each(lock, reap_instance, &reap, NULL);
	uses_free(&reap.uses);
	census_free(&reap.census);
}
