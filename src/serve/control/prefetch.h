/* SPDX-License-Identifier: MIT */
/* The prefetch command: users tell which files they are going to read. Answered at once by the worker that gets it. */
#pragma once
#include "serve/worker/worker.h"

/* An IOCTL of the control file with DSFS_IOC_PREFETCH. In a section. */
void prefetch_ioctl(struct worker *worker, struct channel_request *request);
