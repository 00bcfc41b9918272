/* SPDX-License-Identifier: MIT */
/* The thread that fills the cache of this machine with named files, before they are read. */
#pragma once
#include "datasetfs/control.h"
#include "serve/serve.h"
#include "serve/worker/counters.h"

struct warmer;

/* Starts the thread and sets serve->warmer; that stays NULL if the mount keeps no contents. Call it after
 * cached_chunks_start(), before the workers start. */
must_check int warmer_start(struct serve *serve, struct error *err);
/* Ends the thread. False: it is stuck in a device; it was left running and may use all of serve until the process
 * ends. NULL is allowed, also in the next one. */
must_check bool warmer_stop(struct warmer *warmer);
/* Frees all, after warmer_stop(), and when no worker runs. */
void warmer_free(struct warmer *warmer);

/* Carries out a command, see warm_jobs_command(). Any worker, in a section. */
must_check int warmer_command(struct warmer *warmer, struct dsfs_warm *command, struct error *err);
/* Has the thread register the volume's descriptors again, because one now refers to another device or file. Any thread
 * may call this. */
void warmer_renew(struct warmer *warmer);
/* Counters of the thread. */
const struct counters *warmer_counters(const struct warmer *warmer);
