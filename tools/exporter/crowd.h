/* SPDX-License-Identifier: MIT */
/* Tracks the server's connections and ends some when there are too many: clients that never finish their request, or
 * never read their answer, must not keep others out, and no client may take all places. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "exporter/peer.h"

#define CROWD_KEPT  32u /* connections; each further one ends another */
#define CROWD_MOST  48u /* all connections: also those that wait for metrics, which are never ended, and ended ones */
#define CROWD_SHARE 4u  /* connections of a peer that all wait for metrics, once there are CROWD_KEPT */

struct crowd_place {
	uint64_t turn; /* 0: free. Set on connect, on answer and on completion: the lowest is the oldest */
	int fd;
	struct peer peer;
	bool is_waiting, is_ended;
};

struct crowd {
	struct crowd_place places[CROWD_MOST];
	uint64_t turns;
};

bool crowd_has_room(struct crowd *crowd);
/* Adds a new connection; there must be room. Beyond CROWD_KEPT it ends another one by shutdown(2): one whose peer is
 * gone, else the longest idle one of the peer with the most connections. The other one's owner notices and calls
 * crowd_leave(). NULL: the peer has had its share, so the caller closes the new connection. */
struct crowd_place *crowd_enter(struct crowd *crowd, int fd, const struct peer *peer);
/* Notes that the connection waits for metrics. */
void crowd_wait(struct crowd_place *place);
/* Notes that the connection was answered. */
void crowd_answer(struct crowd *crowd, struct crowd_place *place);
/* Notes that the client has read its answer. Ends the connection if there are more than CROWD_KEPT. */
void crowd_rest(struct crowd *crowd, struct crowd_place *place);
void crowd_leave(struct crowd_place *place);
