/* SPDX-License-Identifier: MIT */
/* The control thread: it carries out commands that take time, so that no worker has to; the worker that has the
 * request answers it. Only this thread changes what is served, announces that to the kernel, and closes versions. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* Made by a worker, then the control thread's, then the worker's again. */
struct control_job {
	struct worker_task task; /* the first member; what the worker does when the job is done */
	struct worker *worker;
	void (*run)(struct serve *serve, struct control_job *job); /* by the control thread */
	struct control_job *next;
};

/* Before the workers start. */
must_check int control_start(struct serve *serve, struct error *err);
/* After the workers ended. NULL too. False: the device holds its thread back, which is left behind and may look at all
 * of serve until the process ends. */
must_check bool control_stop(struct control *control);

/* Any thread. */
void control_submit(struct control *control, struct control_job *job);
