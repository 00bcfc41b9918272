/* SPDX-License-Identifier: MIT */
/* The control thread: commands that take time are done by it, never by a worker, and answered by the worker that
 * has the request. It alone changes what is served, tells the kernel of it, and closes versions. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* Before the workers start. */
must_check int control_start(struct serve *serve, struct error *err);
/* After the workers ended. */
void control_stop(struct control *control);

/* IOCTL on .datasetfs/control. */
void control_ioctl(struct worker *worker, struct channel_request *request);
/* A listing of .datasetfs/versions was answered: the kernel is to forget it soon. Any thread. */
void control_listed(struct control *control);
