/* SPDX-License-Identifier: MIT */
/* A process that aborts the mount's connection when the daemon is killed.
 *
 * A store into the page cache sleeps until a pending READ of the page is answered (fuse/store.h), even through SIGKILL.
 * When the workers are killed, no thread answers that READ; and while the thread sleeps, the daemon's descriptors stay
 * open, so the connection does not end by itself. */
#pragma once
#include <sys/types.h>

#include "base/error.h"

struct guard {
	pid_t pid;  /* 0: there is none */
	int socket; /* connected to the guard */
};

/* Forks the guard. Call it while the process has one thread and no open version, whose memory the guard would share.
 * The guard acts when the calling thread ends, so that thread must live as long as the daemon. */
must_check int guard_open(struct guard *guard, struct error *err);
/* Has the guard watch the connection of the filesystem with this minor device number. After an error nothing may be
 * stored, as nothing could abort the connection. */
must_check int guard_watch(const struct guard *guard, unsigned device_minor, struct error *err);
/* Ends the guard, which then leaves the connection alone. */
void guard_close(struct guard *guard);
