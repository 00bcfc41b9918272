/* SPDX-License-Identifier: MIT */
/* The thread that serves programs which read past the mount: it listens on a socket, gives entitled clients descriptors
 * of the index and the volume, and adds up their reports. */
#pragma once
#include <sys/types.h>

#include "base/text/json.h"
#include "base/thread/counter.h"
#include "client/client.h"
#include "serve/serve.h"

struct clients;
struct dsfs_daemon_facts;

struct clients_counters {
	_Atomic uint64_t connected;    /* clients connected now */
	counter64 opened;              /* versions handed over */
	counter64 refused;             /* connections refused, for lack of rights or of room */
	counter64 dropped;             /* connections closed because of bad messages or unread answers */
	counter64 reported[CLIENT_COUNTS];
	counter64 failed_at, error_at; /* last report of failed reads, of other errors; seconds since 1970 */
};

/* Starts the thread and sets serve->clients. The mount serves even if there can be no socket; .datasetfs/client then
 * says why. */
must_check int clients_start(struct serve *serve, struct error *err);
/* Notes the mount's device number once the mount serves. Before that, clients get no version. */
void clients_settle(struct clients *clients, dev_t device);
/* Tells clients that another version is served. Only on the control thread, or before that thread runs. */
void clients_switched(struct clients *clients, const struct generation *generation);
/* Tells clients to ask again, as they would get more members of the volume, or reopened ones. Any thread may call
 * this. */
void clients_renew(struct clients *clients);
/* Ends the thread; no other thread may still call the functions above. NULL is allowed. False: the thread is stuck
 * opening the volume for a client; it was left running and may use all of serve until the process ends. */
must_check bool clients_stop(struct clients *clients);
/* Frees the object, after clients_stop() returned true. NULL is allowed. */
void clients_free(struct clients *clients);

const struct clients_counters *clients_counters(const struct clients *clients);
/* The reason why there is no socket; "" if there is one. */
const char *clients_reason(const struct clients *clients);
/* Fills in the answer to DSFS_IOC_DAEMON: where the socket is, or why there is none. */
void clients_tell(const struct clients *clients, struct dsfs_daemon_facts *ret);
/* Writes the content of .datasetfs/client. */
void clients_write(struct serve *serve, struct json *json);
