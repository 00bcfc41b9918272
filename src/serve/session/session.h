/* SPDX-License-Identifier: MIT */
/* A mount from its first check to its end: volume, version, mount, INIT, workers and signals. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "options/mount_options.h"

struct keep;
struct session;

/* Blocks the signals that session_run() waits for. Call it before any thread is started. */
void session_block_signals(void);
/* Does everything that session_start() does before the mount, as a check: opens the volume and the version, compares
 * the digest, and probes the machine for the options' needs. */
must_check int session_check(const struct mount_options *options, struct error *err);
/* Does everything that a successor does before it serves, as a check, beside the server. Changes nothing that others
 * see. The process ends after that without freeing anything. */
must_check int session_rehearse(const struct mount_options *options, struct keep *keep, struct error *err);
/* Mounts the filesystem, or takes it over from the former server if keep is a successor's, and begins to serve it.
 * keep: the supervisor; NULL: none. The strings in options must live as long as the session. After an error
 * the caller frees *ret as well, if it was set, as threads may have begun. */
must_check int session_start(const struct mount_options *options, struct keep *keep, struct session **ret,
			     struct error *err);
/* The mountpoint, absolute. */
const char *session_mountpoint(const struct session *session);
/* Serves until the filesystem is unmounted by umount(8), fusermount3 or a signal. */
must_check int session_run(struct session *session, struct error *err);
/* Whether session_run() has returned because another program is to go on. The process must then end at once, by
 * _exit(2), with SUPERVISOR_AGAIN. */
bool session_is_replaced(const struct session *session);
/* Unmounts if necessary, ends all threads and frees the session. NULL is allowed. False: a thread is stuck in a device,
 * and may go on running at any time. The process must then end by _exit(2), so that neither main() nor exit(3) frees
 * anything. */
bool session_free(struct session *session);
