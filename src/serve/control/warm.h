/* SPDX-License-Identifier: MIT */
/* The ioctl on .datasetfs/control that fills the cache of this machine. */
#pragma once
#include "serve/worker/worker.h"

/* Answers at once: a thread of its own does the work. */
void warm_ioctl(struct worker *worker, struct channel_request *request);
