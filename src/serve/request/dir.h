/* SPDX-License-Identifier: MIT */
/* READDIR and READDIRPLUS of a version's directories. */
#pragma once
#include "serve/worker/worker.h"

/* Answers a READDIR or READDIRPLUS. Call it in a section. */
void dir_handle(struct worker *worker, struct channel_request *request);
