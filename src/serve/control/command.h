/* SPDX-License-Identifier: MIT */
/* The ioctl on .datasetfs/control that switches the mount or prepares a switch. */
#pragma once
#include "serve/worker/worker.h"

/* Checks who sends the command, and hands it to the control thread. */
void command_ioctl(struct worker *worker, struct channel_request *request);
