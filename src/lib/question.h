/* SPDX-License-Identifier: MIT */
/* Asks a mount about itself by the ioctls of datasetfs/control.h. The mount may be hostile: what it answers may be
 * anything. */
#pragma once
#include "base/error.h"

/* Gives a command that only asks, below mount, a mount's root. *argument is its struct; what a mount leaves out of an
 * answer keeps its value. */
must_check int question_ask(int mount, unsigned long command, void *argument, struct error *err);
