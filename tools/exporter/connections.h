/* SPDX-License-Identifier: MIT */
/* Tracks the server's connections and ends some when there are too many: clients that never finish their request, or
 * never read their answer, must not keep others out, and no client may take all places. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "exporter/peer.h"

#define CONNECTIONS_KEPT  32u /* connections; each further one ends an older one */
#define CONNECTIONS_MOST  48u /* all: also those that wait for metrics, which are never ended, and ended ones */
#define CONNECTIONS_SHARE 4u  /* connections of a peer that all wait for metrics, once there are CONNECTIONS_KEPT */

struct connection {
	uint64_t turn; /* 0: free. Set on connect, on answer and on completion: the lowest is the oldest */
	int fd;
	struct peer peer;
	bool is_waiting, is_ended;
};

struct connections {
	struct connection places[CONNECTIONS_MOST];
	uint64_t turns;
};

bool connections_have_room(struct connections *all);
/* Adds a new connection; there must be room. Beyond CONNECTIONS_KEPT it ends another one by shutdown(2): one whose
 * peer is gone, else the longest idle one of the peer with the most connections. The other one's owner notices and
 * calls connections_remove(). NULL: the peer has had its share, so the caller closes the new connection. */
struct connection *connections_add(struct connections *all, int fd, const struct peer *peer);
/* Notes that the connection waits for metrics. */
void connections_wait(struct connection *place);
/* Notes that the connection was answered. */
void connections_answer(struct connections *all, struct connection *place);
/* Notes that the client has read its answer. Ends the connection if there are more than CONNECTIONS_KEPT. */
void connections_rest(struct connections *all, struct connection *place);
void connections_remove(struct connection *place);
