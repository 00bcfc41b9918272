/* SPDX-License-Identifier: MIT */
/* Tracks the server's connections and ends some when there are too many: clients that never finish their request, or
 * never read their answer, must not keep others out, and nobody may take the places of all. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "exporter/peer.h"

#define CROWD_KEPT  32u /* connections; each further one ends another */
#define CROWD_MOST  48u /* including those that wait for metrics, which are never ended, and ended ones */
#define CROWD_SHARE 4u  /* of a peer whose connections all wait, once there are CROWD_KEPT */

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
/* A new connection; there must be room. Beyond CROWD_KEPT another one is ended by shutdown(2): one whose peer is gone,
 * else of the peer that has the most connections the one that has been idle the longest. Its owner notices and calls
 * crowd_leave(). NULL: the peer has had its share, the new one is to be closed. */
struct crowd_place *crowd_enter(struct crowd *crowd, int fd, const struct peer *peer);
/* The connection waits for metrics; then it was answered. */
void crowd_wait(struct crowd_place *place);
void crowd_answer(struct crowd *crowd, struct crowd_place *place);
/* The client has read its answer. Beyond CROWD_KEPT the connection is ended. */
void crowd_rest(struct crowd *crowd, struct crowd_place *place);
void crowd_leave(struct crowd_place *place);
