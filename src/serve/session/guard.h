/* SPDX-License-Identifier: MIT */
/* A process that aborts the mount's connection when the daemon is killed.
 *
 * A store into the page cache sleeps while a READ of the page is owed (fuse/store.h), through SIGKILL as well. When the
 * workers are killed nobody answers that READ; and as long as the thread sleeps, the daemon's descriptors stay open and
 * the connection does not end by itself. */
#pragma once
#include <sys/types.h>

#include "base/error.h"

struct guard {
	pid_t pid;  /* 0: there is none */
	int socket; /* to it */
};

/* While the process has one thread and no version open, whose memory it would share. By the thread that lives as long
 * as the daemon: the guard looks at that one. */
must_check int guard_open(struct guard *guard, struct error *err);
/* From here on it guards the connection of the filesystem with this device number. Fails where the kernel does not let
 * it: then nothing may be stored. */
must_check int guard_watch(const struct guard *guard, unsigned device_minor, struct error *err);
/* The connection is left alone from here on. */
void guard_close(struct guard *guard);
