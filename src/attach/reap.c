/* SPDX-License-Identifier: MIT */
/* Goes through the folders of the state, and looks each up in the table of mounts. */
#include "attach/reap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/instance.h"
#include "attach/machine.h"
#include "base/cleanup.h"

#define REAP_AGE 600 /* seconds */

struct reap {
	int state;
	const char *key;       /* reap_others(): not this one */
	struct uses uses;      /* as they were before the locks */
	const char *of;        /* the key that is looked at */
	unsigned except;
	int64_t age;           /* of a mount without consumers, to be ended */
};

/* Undoes the holds of an instance whose namespace is gone. True: there was one. */
static bool reap_holds(const struct uses *uses, const struct instance *instance)
{
	bool found = false;

	for (size_t i = 0; i < uses->count; i++) {
		const struct use *use = &uses->items[i];

		if (use->kind != USE_HOLD || use->number != instance->number || strcmp(use->key, instance->key) != 0 ||
		    machine_process_in(use->namespace))
			continue;
		instance_unhold(instance, use->namespace);
		found = true;
	}
	return found;
}

static bool reap_is_used(const struct uses *uses, const struct instance *instance)
{
	const struct use *mount = uses_find(uses, USE_KEPT, instance->key, instance->number);

	if (!mount)
		mount = uses_find(uses, USE_MOUNT, instance->key, instance->number);
	return mount && uses_count(uses, mount->device);
}

static bool reap_is_used_now(const struct instance *instance)
{
	auto_uses struct uses uses = { 0 };

	return uses_read(&uses, NULL) < 0 || reap_is_used(&uses, instance);
}

static int reap_instance(void *argument, const char *name, struct error *err)
{
	const struct reap *reap = argument;
	struct instance instance = instance_of(reap->of, (unsigned)strtoul(name, NULL, 10));

	(void)err;
	if (!instance.number || instance.number == reap->except)
		return 0;
	if (!reap_holds(&reap->uses, &instance) && reap_is_used(&reap->uses, &instance))
		return 0;
	if (!reap_is_used_now(&instance) && instance_age(&instance) >= reap->age && !instance_begins(&instance))
		instance_end(&instance);
	return 0;
}

static int reap_other(void *argument, const char *name, struct error *err)
{
	struct reap *reap = argument;
	auto_close int lock = -1;

	(void)err;
	if (!strcmp(name, reap->key) || state_lock(reap->state, name, false, &lock, NULL) < 0)
		return 0;
	reap->of = name;
	(void)!state_each(lock, reap_instance, reap, NULL);
	state_drop(reap->state, name);
	return 0;
}

void reap_others(int state, const char *key)
{
	struct reap reap = { .state = state, .key = key, .age = REAP_AGE };

	if (uses_read(&reap.uses, NULL) == 0)
		(void)!state_each(state, reap_other, &reap, NULL);
	uses_free(&reap.uses);
}

void reap_key(int lock, const char *key, unsigned except)
{
	struct reap reap = { .of = key, .except = except };

	if (uses_read(&reap.uses, NULL) == 0)
		(void)!state_each(lock, reap_instance, &reap, NULL);
	uses_free(&reap.uses);
}
