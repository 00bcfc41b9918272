/* SPDX-License-Identifier: MIT */
/* Owns the list of data sets whose mounts this process can see. All calls are made inside (inside.h). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/lib.h"

#define DATASET_ROOT 512u /* bytes of a mountpoint's path */

struct dataset {
	char root[DATASET_ROOT]; /* constant, as are length and device */
	size_t length;
	dev_t device;
	_Atomic uint64_t mount; /* mount id; if several mounts are at this path, that of the last */
	_Atomic int state; /* DATASET_* */
	bool is_listed;    /* used while the mounts are read */
	struct dsfs *_Atomic fs; /* set once the state is DATASET_OPEN */
};

/* Must be called before anything else here; false: no memory. */
bool datasets_make(void);
/* Checks whether mounts came or went. Must be called at each open, before the functions below. False: there is no data
 * set. */
bool datasets_look(void);
/* Reads the mounts again even if the kernel reports no change, as it does not when a folder above a mountpoint is
 * renamed. */
void datasets_look_again(void);
/* Returns the first visible data set of this device, or the next one after last; NULL: there is none. */
const struct dataset *datasets_next(dev_t device, const struct dataset *last);
/* Finds the data set that an absolute path leads into, by comparing text only; NULL: none. *ret_below: the rest of the
 * path. */
struct dataset *datasets_find(const char *path, const char **ret_below);
/* Finds the data set that a relative path leads into from a directory above its mountpoint; NULL: none. *ret_below: the
 * rest of the path. */
struct dataset *datasets_find_below(int directory, const char *path, const char **ret_below);
/* Finds the data set that a path, which may be empty, lies in, and the inode that it leads to. NULL: there is none, or
 * the kernel is older than Linux 5.8 and does not tell which mount it is. */
struct dataset *datasets_find_around(int directory, const char *path, uint64_t *ret_inode);
/* Returns the version that is mounted there, for handle_put(); NULL: it cannot be read past the mount (any more). */
struct opened *datasets_get(struct dataset *dataset);
/* Whether the mount that a version came from is served: by its daemon, or by another one in its place. */
bool datasets_goes_on(const struct opened *opened);
/* Gives up all data sets for good: closes the library's descriptors of volumes and daemons, and unmaps indexes, at once
 * or when the last read in flight ends. Must be called after settings_stop(). */
void datasets_stop(void);
/* Whether any data set has this device. */
bool datasets_have(dev_t device);
bool datasets_is_device(const struct dataset *dataset, const struct statx *st);
