/* SPDX-License-Identifier: MIT */
/* SIGINT and SIGTERM: remembered at once, acted upon where it is safe. */
#pragma once
#include <stdbool.h>

#include "base/error.h"

/* A second signal of the same kind ends the process hard. */
void interrupt_install(void);
void interrupt_raise(void); /* what the handler does; for tests */
void interrupt_clear(void);
/* -EINTR "interrupted" once a signal came. Any thread. */
must_check int interrupt_check(struct error *err);
