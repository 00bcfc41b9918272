/* SPDX-License-Identifier: MIT */
/* SIGINT, SIGTERM, SIGHUP and SIGQUIT: recorded at once, acted upon where it is safe. */
#pragma once
#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* SIGPIPE is ignored as well. */
void interrupt_install(void);
/* -EINTR "interrupted" once a signal came. Any thread. */
must_check int interrupt_check(struct error *err);
/* Ends the program by the signal that came, if one did, as if nobody had waited for it: once all is cleaned up. */
void interrupt_end(void);
/* Until fd has something to read or its end; -EINTR "interrupted", also when the signal came before. Of the only
 * thread. */
must_check int interrupt_wait(int fd, struct error *err);
/* The same for several, as by poll(2), for so many ns at most; negative: no limit. Also 0, with no events, when another
 * signal came or the time is over. */
must_check int interrupt_poll(struct pollfd *inputs, size_t count, int64_t ns, struct error *err);
