/* SPDX-License-Identifier: MIT */
/* MNT/.datasetfs/versions: lookups and listings there read the volume, and the first lookup of a version waits until
 * it is loaded. One thread does that, one visit after the other, so commands in the control thread never wait for a
 * visitor. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* After the control thread, before the workers start. */
must_check int visits_start(struct serve *serve, struct error *err);
/* After the workers ended, before the control thread does. */
void visits_stop(struct visits *visits);

/* LOOKUP and READDIR of the folder. */
void visits_lookup(struct worker *worker, struct channel_request *request);
void visits_list(struct worker *worker, struct channel_request *request);
/* LOOKUP of the file that describes them all. */
void visits_describe(struct worker *worker, struct channel_request *request);
