/* SPDX-License-Identifier: MIT */
/* The ioctl on .datasetfs/control that switches the mount or prepares a switch. */
#pragma once
#include "serve/worker/worker.h"

/* Checks whether the sender may switch the mount, and hands the command to the control thread. */
void command_ioctl(struct worker *worker, struct channel_request *request);
