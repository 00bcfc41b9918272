/* SPDX-License-Identifier: MIT */
/* One mount of a key: its folder in the state, its binds, and its end. Callers hold the key's lock, and are in the
 * machine's namespace. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "attach/state.h"

#define INSTANCE_UNIT_SIZE 80u

struct instance {
	char key[KEY_NAME_SIZE];
	unsigned number;
	char path[STATE_PATH_SIZE];       /* of its folder */
	char mount[STATE_PATH_SIZE + 16]; /* of the mountpoint in it */
};

struct instance instance_of(const char *key, unsigned number);
/* Writes the name of the instance's unit, and parses the part of it behind '@'. */
void instance_unit(const struct instance *instance, char ret[INSTANCE_UNIT_SIZE]);
must_check int instance_parse(const char *name, struct instance *ret, struct error *err);

/* Makes its folder. */
must_check int instance_make(const struct instance *instance, struct error *err);
/* The lock that a daemon holds until it serves. The caller takes it for the daemon, and holds the key's lock. */
must_check int instance_begin(const struct instance *instance, int *ret, struct error *err);
/* Waits until no daemon has it, which may take minutes, so without the key's lock. */
must_check int instance_await(const struct instance *instance, struct error *err);
bool instance_begins(const struct instance *instance); /* a daemon has it */
/* Returns how old the folder is, in seconds. */
int64_t instance_age(const struct instance *instance);
/* Makes a copy of the mount that is mounted nowhere yet: what is mounted in it later is seen in no other copy. */
must_check int instance_clone(const struct instance *instance, int *ret_tree, struct error *err);
/* Binds the mount where it is kept, whatever the daemon does. */
must_check int instance_keep(const struct instance *instance, struct error *err);
/* Binds the mount for consumers in the mount namespace with this number, unless it is bound for them, and undoes it. */
must_check int instance_hold(const struct instance *instance, uint64_t namespace, struct error *err);
void instance_unhold(const struct instance *instance, uint64_t namespace);
/* Unmounts the mount, if there is one, and removes its folder. Never waits: consumers who still have it keep it. */
void instance_end(const struct instance *instance);
