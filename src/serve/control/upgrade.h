/* SPDX-License-Identifier: MIT */
/* The ioctl on .datasetfs/control that replaces the program of the mount. The control thread looks at the program and
 * hands it to the supervisor; the answer comes from there, or the next server gives it. */
#pragma once
#include "base/error.h"
#include "serve/worker/worker.h"
#include "supervisor/keep.h"

/* Checks whether the sender may replace the program, and hands the command to the control thread. */
void upgrade_ioctl(struct worker *worker, struct channel_request *request);
/* Answers the command, or notes of a takeover without one, that the supervisor has said that this server stays. Any
 * thread may call this, and the next. */
void upgrade_fail(struct serve *serve, const struct keep_answer *told);
/* Ends the work on the command, as this server stops: the next one answers it if the kernel sends requests again, and
 * else it is answered now. */
void upgrade_leave(struct serve *serve, bool resends);
/* Notes the result of the command that led to this server, for when the kernel sends it again, if one did. Control
 * thread only. */
void upgrade_finish(struct serve *serve, const struct keep_answer *told);
