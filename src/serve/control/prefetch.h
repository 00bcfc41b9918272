/* SPDX-License-Identifier: MIT */
/* The prefetch command, by which users announce files that they will read. The worker that receives it answers it. */
#pragma once
#include "serve/worker/worker.h"

/* Answers a DSFS_IOC_PREFETCH ioctl on the control file. Call it in a section. */
void prefetch_ioctl(struct worker *worker, struct channel_request *request);
