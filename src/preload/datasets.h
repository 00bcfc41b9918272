/* SPDX-License-Identifier: MIT */
/* The mounts of data sets that this process can see. All this is called inside. */
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
	_Atomic uint64_t mount; /* its id; of several that are mounted there the last one's */
	_Atomic int state; /* DATASET_* */
	bool is_listed;    /* while the mounts are read */
	struct dsfs *_Atomic fs; /* of a DATASET_OPEN one */
};

/* Before anything else here. False: no memory. */
bool datasets_make(void);
/* Looks whether mounts came or went: before what follows, for each open. False: there is no data set. */
bool datasets_look(void);
/* Also for what the kernel does not tell of: that a directory above a mountpoint was renamed. */
void datasets_look_again(void);
/* The first one of this device that can be seen, or the next one after last; NULL: there is none. */
const struct dataset *datasets_next(dev_t device, const struct dataset *last);
/* The one that an absolute path leads into by its text, and the rest of the path; NULL: none. */
struct dataset *datasets_find(const char *path, const char **ret_below);
/* The same of a relative path that begins in a directory above the mountpoint. */
struct dataset *datasets_find_below(int directory, const char *path, const char **ret_below);
/* The one that a path, which may be empty, is in, and the number of what it leads to. NULL: none, or a kernel before
 * Linux 5.8, which does not tell the mount. */
struct dataset *datasets_find_around(int directory, const char *path, uint64_t *ret_inode);
/* The version that is mounted there, for handle_put(); NULL: it cannot be read past the mount, or not any more. */
struct opened *datasets_get(struct dataset *dataset);
/* Gives all of them up: closes what the library has of volumes and daemons and unmaps indexes, at once or when the
 * last read under way ends. For good, after settings_stop(). */
void datasets_stop(void);
/* Whether this is the device of one of them. */
bool datasets_have(dev_t device);
bool datasets_is_device(const struct dataset *dataset, const struct statx *st);
