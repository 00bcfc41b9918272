/* SPDX-License-Identifier: MIT */
/* Asks a mount about itself by the ioctls of datasetfs/control.h. The mount may be hostile, so callers must trust
 * nothing in the answer. */
#pragma once
#include "base/error.h"

/* Sends a command that only asks to the control file below `mount`, a descriptor of a mount's root. *argument: the
 * command's struct; whatever the answer leaves out keeps its value. */
must_check int question_ask(int mount, unsigned long command, void *argument, struct error *err);
