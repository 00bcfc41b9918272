/* SPDX-License-Identifier: MIT */
/* The place where a consumer wants to see a data set: a directory, found once and without following a link, and used by
 * descriptors from then on. Belongs to the mount namespace in which it was opened. */
#pragma once
#include <limits.h>

#include "base/error.h"

struct place {
	int folder;          /* O_PATH: the directory that holds it */
	int directory;       /* O_PATH: itself, or what is mounted there */
	char name[NAME_MAX + 1];
	char path[PATH_MAX]; /* absolute, as the kernel has it */
};

#define PLACE_NONE ((struct place){ .folder = -1, .directory = -1 })

/* Finds the place. -ENOENT, -ENOTDIR, -ELOOP: a link is in the way; -EINVAL: it cannot have a mount, because it is a
 * root directory or below the folder of the state. Asks no filesystem that is mounted there. */
must_check int place_open(const char *path, struct place *ret, struct error *err);
void place_close(struct place *place);
/* Finds it again by its path, as something may have been mounted there meanwhile, or unmounted. */
must_check int place_renew(struct place *place, struct error *err);
/* Locks the place with runtime_lock_place(), by whatever path or from whatever namespace it is named. Waits for as long
 * as another one takes, or hangs, at this place, so it comes before any other lock. */
must_check int place_lock(const struct place *place, int places, struct error *err);
/* Mounts the detached tree there. */
must_check int place_cover(const struct place *place, int tree, struct error *err);
/* Unmounts the topmost mount there, at once, even if it is in use or dead. */
must_check int place_uncover(const struct place *place, struct error *err);

#define auto_place cleanup(place_close)
