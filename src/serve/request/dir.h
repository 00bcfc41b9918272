/* SPDX-License-Identifier: MIT */
/* Answers READDIR and READDIRPLUS for the directories of versions. */
#pragma once
#include "serve/worker/worker.h"

/* Answers one request. Call it in a section. */
void dir_handle(struct worker *worker, struct channel_request *request);
