/* SPDX-License-Identifier: MIT */
/* Answers requests on MNT/.datasetfs/versions. Lookups and listings there read the volume, and the first lookup of a
 * version waits until it is loaded. One thread carries out these visits in turn, so that commands in the control thread
 * never wait for a visitor. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* Starts the thread and sets serve->visits. Call it before the workers start. */
must_check int visits_start(struct serve *serve, struct error *err);
/* Ends the thread, before the control thread ends. NULL is allowed. */
void visits_stop(struct visits *visits);
/* Frees the object, which no worker may use any more. NULL is allowed. */
void visits_free(struct visits *visits);

/* Answers a LOOKUP of a label in the directory. */
void visits_lookup(struct worker *worker, struct channel_request *request);
/* Answers a READDIR of the directory. */
void visits_list(struct worker *worker, struct channel_request *request);
/* Answers a request on .datasetfs/versions.json: with an error if the volume cannot be read, or else by `answer`, which
 * takes the text that describes all versions, on the worker's thread. */
void visits_describe(struct worker *worker, struct channel_request *request,
		     void (*answer)(struct worker *worker, struct channel_request *request, char *text, size_t length));
/* Answers DSFS_IOC_VERSIONS, which lists the volume's versions in a struct. */
void visits_tell(struct worker *worker, struct channel_request *request);
