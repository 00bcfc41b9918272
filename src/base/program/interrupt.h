/* SPDX-License-Identifier: MIT */
/* Handles SIGINT, SIGTERM, SIGHUP and SIGQUIT: a signal is recorded at once and acted upon where it is safe. */
#pragma once
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Installs the handlers, and ignores SIGPIPE. */
void interrupt_install(void);
/* Returns -EINTR "interrupted" once a signal has come. Any thread may call it. */
must_check int interrupt_check(struct error *err);
/* Ends the program by the signal that came, if any, so that its parent sees the signal. Must be called after all
 * cleanup. */
void interrupt_end(void);
/* Waits until fd is readable or at its end, then reads; returns bytes, 0 at the end. -EINTR "interrupted", also when
 * the signal came before. The caller must be the only thread. */
must_check ssize_t interrupt_read(int fd, void *buffer, size_t size, struct error *err);
/* Waits for several descriptors like poll(2), for ns nanoseconds at most; negative: no limit. -EINTR "interrupted";
 * 0 with no events on a timeout and after any other signal. */
must_check int interrupt_poll(struct pollfd *inputs, size_t count, int64_t ns, struct error *err);
