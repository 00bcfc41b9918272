/* SPDX-License-Identifier: MIT */
/* IOCTL on .datasetfs/control: the command that switches the mount or prepares that. */
#pragma once
#include "serve/worker/worker.h"

void command_ioctl(struct worker *worker, struct channel_request *request);
