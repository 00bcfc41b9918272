/* SPDX-License-Identifier: MIT */
/* Programs that read past the mount: a thread that meets them at a socket, gives those who are entitled to them
 * descriptors of the index and of the volume, and counts what they report. */
#pragma once
#include "base/counter.h"
#include "base/json.h"
#include "handover/handover.h"
#include "serve/serve.h"

struct clients;

struct clients_counters {
	_Atomic uint64_t connected;    /* now */
	counter64 opened;              /* versions that were handed over */
	counter64 refused;             /* connections of those who may not, or for whom there was no room */
	counter64 dropped;             /* connections that sent nonsense or did not read their answers */
	counter64 reported[HANDOVER_COUNTS];
	counter64 failed_at, error_at; /* when failed reads were reported last, and other trouble; seconds since 1970 */
};

/* A mount without a socket serves all the same; .datasetfs/client then says why there is none. */
must_check int clients_start(struct serve *serve, struct error *err);
/* The mount serves: from here on clients can have something. */
void clients_settle(struct clients *clients, const char *mountpoint);
/* The control thread's: another version is served. */
void clients_switched(struct clients *clients, const struct generation *generation);
/* Any thread: a client that asks again gets more of the volume, or gets it anew. */
void clients_renew(struct clients *clients);
/* Nobody calls the above any more. NULL too. False: the device holds its thread back in a client's open of the volume;
 * it is left behind and may look at all of serve until the process ends. */
must_check bool clients_stop(struct clients *clients);
/* When it has stopped. NULL too. */
void clients_free(struct clients *clients);

const struct clients_counters *clients_counters(const struct clients *clients);
/* Why there is no socket; "": there is one. */
const char *clients_reason(const struct clients *clients);
/* What .datasetfs/client says. */
void clients_write(struct serve *serve, struct json *json);
