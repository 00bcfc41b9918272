/* SPDX-License-Identifier: MIT */
/* The control thread: it carries out commands that take time, so that no worker has to. The worker that received the
 * request answers it. Only this thread switches versions, announces switches to the kernel, and closes versions. */
#pragma once
#include "serve/recovery/recovery.h"
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* A job for the control thread, which owns it from control_submit() until it has posted `task` to the worker. */
struct control_job {
	struct worker_task task; /* must be the first field; the worker runs it when the job is done */
	struct worker *worker;
	struct recovery_request request; /* that the worker had in hand; control_submit() */
	/* Called on the control thread. False: the job belongs to another thread, which posts its task. */
	bool (*run)(struct serve *serve, struct control_job *job);
	struct control_job *next;
};

/* Starts the thread and sets serve->control. Call it before the workers start. */
must_check int control_start(struct serve *serve, struct error *err);
/* Ends the thread. NULL is allowed. False: the thread is stuck in the device; it was left running and may use all of
 * serve until the process ends. */
must_check bool control_stop(struct control *control);
/* Frees the object, which no worker may use any more. NULL is allowed. */
void control_free(struct control *control);

/* Has the thread check the catalogue when it has no job. Control thread only. */
void control_look(struct control *control);
/* Looks for members that were added to the volume, and waits while another server is to take over with them. True: it
 * does. Control thread only. */
bool control_await_members(struct control *control);
/* Queues a job, for the request that its worker has in hand if it has a worker. Worker's thread, or before it runs. */
void control_submit(struct control *control, struct control_job *job);
