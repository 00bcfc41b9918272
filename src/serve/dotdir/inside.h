/* SPDX-License-Identifier: MIT */
/* MNT/.datasetfs: nodes with sequence 0. Its files are snapshots: each lookup makes a fresh node whose
 * content never changes (the kernel caches it), with an entry timeout of 0, freed when the kernel forgets it.
 */
#pragma once
#include <stdbool.h>

#include "serve/serve.h"
#include "serve/worker/worker.h"

must_check int inside_new(struct inside **ret, struct error *err);
void inside_free(struct inside *inside);

/* When nodeid_is_dotdir_name(). */
void inside_lookup_folder(struct worker *worker, struct channel_request *request);
/* When nodeid_is_dotdir(). */
void inside_lookup(struct worker *worker, struct channel_request *request);
void inside_getattr(struct worker *worker, struct channel_request *request);
void inside_read(struct worker *worker, struct channel_request *request);
void inside_seek(struct worker *worker, struct channel_request *request);
void inside_list(struct worker *worker, struct channel_request *request);
void inside_forget(struct worker *worker, uint64_t nodeid, uint64_t lookups);
