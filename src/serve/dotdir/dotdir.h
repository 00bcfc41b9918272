/* SPDX-License-Identifier: MIT */
/* MNT/.datasetfs: nodes with sequence 0. Its files are snapshots (snapshots.h), with an entry timeout of 0 if they may
 * change. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* When nodeid_is_dotdir_name(). */
void dotdir_lookup_folder(struct worker *worker, struct channel_request *request);
/* When nodeid_is_dotdir(). */
void dotdir_lookup(struct worker *worker, struct channel_request *request);
void dotdir_getattr(struct worker *worker, struct channel_request *request);
void dotdir_read(struct worker *worker, struct channel_request *request);
void dotdir_seek(struct worker *worker, struct channel_request *request);
void dotdir_list(struct worker *worker, struct channel_request *request);
