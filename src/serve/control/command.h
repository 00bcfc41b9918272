/* SPDX-License-Identifier: MIT */
/* The ioctl on .datasetfs/control that switches the mount or prepares a switch. */
#pragma once
#include "serve/worker/worker.h"

/* Finishes the command that the former server was carrying out when it died. Control thread only. */
void command_finish(struct serve *serve);
/* Checks whether the sender may switch the mount, and hands the command to the control thread. */
void command_ioctl(struct worker *worker, struct channel_request *request);
