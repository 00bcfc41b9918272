/* SPDX-License-Identifier: MIT */
/* The folder with all that is kept, which root alone may enter, and its group where contrib/systemd/ has made it: for
 * each key a folder, which is its lock as well, and in it one for each of its mounts, by number. There is more than one
 * only while consumers still hold a mount that new ones cannot use.
 *
 *   KEY/NUMBER/mount      where the daemon has mounted it
 *   KEY/NUMBER/kept       a bind of it: it is known for ours even if somebody stops the daemon, which then unmounts
 *   KEY/NUMBER/users/N    one more bind, for consumers in the mount namespace N, which the machine's table lacks
 *   KEY/NUMBER/starting   locked by the daemon until it serves
 *   KEY/NUMBER/command    the daemon's command line, each argument followed by a NUL */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "attach/key.h"
#include "base/program/runtime.h"

#define STATE_NAME      "attach" /* for runtime_open() */
#define STATE_FOLDER    RUNTIME_FOLDER "/" STATE_NAME
#define STATE_PATH_SIZE 128u

#define STATE_MOUNT    "mount"
#define STATE_KEPT     "kept"
#define STATE_USERS    "users"
#define STATE_STARTING "starting"
#define STATE_COMMAND  "command"

/* Makes the key's folder if there is none, locks it and opens it. -EAGAIN: another process has the lock, and wait is
 * false. Closing *ret ends it. */
must_check int state_lock(int state, const char *key, bool wait, int *ret, struct error *err);
/* Removes the key's folder if it is empty. Only with its lock. */
void state_drop(int state, const char *key);
/* Makes a folder, unless it is there, with search permission for all: the exporter passes through it to ask the mounts.
 * Only root may list or change it. */
must_check int state_make(int at, const char *name, struct error *err);
