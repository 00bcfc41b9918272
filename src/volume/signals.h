/* SPDX-License-Identifier: MIT */
/* Signals that would end the program, held back while it has to put something back first. */
#pragma once
#include <signal.h>

#include "base/error.h"

/* What was there before goes to former. */
void signals_hold(sigset_t *former);
/* One that came meanwhile acts now. */
void signals_release(const sigset_t *former);
/* -EINTR when one came while they are held: for loops that take long. */
must_check int signals_check(struct error *err);
