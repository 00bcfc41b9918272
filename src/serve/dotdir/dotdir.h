/* SPDX-License-Identifier: MIT */
/* Answers requests on MNT/.datasetfs. Its nodes have sequence 0. Its files are snapshots (snapshots.h); one that may
 * change has an entry timeout of 0. */
#pragma once
#include "serve/serve.h"
#include "serve/worker/worker.h"

/* Answers the LOOKUP of .datasetfs in the root, see nodeid_is_dotdir_name(). */
void dotdir_lookup_folder(struct worker *worker, struct channel_request *request);
/* The functions below answer requests on nodes for which nodeid_is_dotdir() is true. */
void dotdir_lookup(struct worker *worker, struct channel_request *request);
void dotdir_getattr(struct worker *worker, struct channel_request *request);
void dotdir_read(struct worker *worker, struct channel_request *request);
void dotdir_seek(struct worker *worker, struct channel_request *request);
void dotdir_list(struct worker *worker, struct channel_request *request);
