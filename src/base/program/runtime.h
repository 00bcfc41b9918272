/* SPDX-License-Identifier: MIT */
/* Folders below /run/datasetfs in which root keeps what outlives its processes, until the machine stops. */
#pragma once
#include <sys/types.h>

#include "base/error.h"

#define RUNTIME_FOLDER "/run/datasetfs"

/* Makes the folder RUNTIME_FOLDER/NAME if there is none, for root alone, and opens it. -EPERM: a user other than root
 * may change it. */
must_check int runtime_open(const char *name, int *ret, struct error *err);
/* Makes a folder with this mode, whatever the umask, unless it is there. */
must_check int runtime_make(int at, const char *name, mode_t mode, struct error *err);
/* Calls visit with the name of each entry of a folder, which may remove it, until it returns something other than 0;
 * returns that. */
typedef int (*runtime_visit)(void *argument, const char *name, struct error *err);
must_check int runtime_each(int folder, runtime_visit visit, void *argument, struct error *err);

/* Opens the file in which places are locked, each by a byte. */
must_check int runtime_open_places(int *ret, struct error *err);
/* Locks the place of this name in a directory: until the file is closed, no other process mounts or unmounts there
 * under the same lock. Waits for it. path: for the reason. */
must_check int runtime_lock_place(int places, int directory, const char *name, const char *path, struct error *err);
