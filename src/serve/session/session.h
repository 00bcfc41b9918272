/* SPDX-License-Identifier: MIT */
/* A mount from its first check to its end: volume, version, mount, INIT, workers, signals. */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "serve/serve.h"

struct session;

/* Blocks the signals that session_run() waits for; before any thread is started. */
void session_block_signals(void);
/* Everything of session_start() that comes before the mount: volume, version, digest, what the options ask of the
 * machine. */
must_check int session_check(const struct serve_options *options, struct error *err);
/* On return the filesystem is mounted and served. The strings in options are kept. After an error the caller frees *ret
 * as well, if it was set: threads may have begun. */
must_check int session_start(const struct serve_options *options, struct session **ret, struct error *err);
/* Until it is unmounted: by umount(8), fusermount3 or a signal. */
must_check int session_run(struct session *session, struct error *err);
/* False: a device keeps a thread. It may run on at any time, so the process ends by _exit(2): nothing is freed any
 * more, neither by main() nor by what libraries do at exit(3). */
bool session_free(struct session *session);
