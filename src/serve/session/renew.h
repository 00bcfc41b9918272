/* SPDX-License-Identifier: MIT */
/* Files of .datasetfs that are open at a takeover: the kernel drops its copy of them, as today's text may be longer
 * than the size that it remembers. */
#pragma once
#include "serve/recovery/recovery.h"
#include "serve/serve.h"

/* Copies from the record which files the kernel may know from earlier servers. Before this server answers anything. */
void renew_begin(const struct serve *serve, uint64_t ret[RECOVERY_SNAPSHOTS]);
/* Has the kernel ask for the attributes of these files before it reads on, and takes those that it does not know out of
 * the record. Only for a thread that owes the kernel no reply: a file may be on its way out, and wait for one. */
void renew_files(struct serve *serve, const uint64_t nodes[RECOVERY_SNAPSHOTS]);
