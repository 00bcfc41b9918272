/* SPDX-License-Identifier: MIT */
/* Tracks the server's connections and ends some when there are too many: clients that never finish their request, or
 * never read their answer, must not keep others out. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define CROWD_KEPT 32u /* connections; each further one ends another */
#define CROWD_MOST 48u /* including those that wait for metrics, which are never ended, and ended ones */

struct crowd_place {
	uint64_t turn; /* 0: free. Set on connect, on answer and on completion: the lowest is the oldest */
	int fd;
	bool is_waiting, is_ended;
};

struct crowd {
	struct crowd_place places[CROWD_MOST];
	uint64_t turns;
};

/* A new connection; there must be fewer than CROWD_MOST. Beyond CROWD_KEPT, the connection that has been idle the
 * longest is ended by shutdown(2); its owner notices and calls crowd_leave(). */
struct crowd_place *crowd_enter(struct crowd *crowd, int fd);
/* The connection waits for metrics; then it was answered. */
void crowd_wait(struct crowd_place *place);
void crowd_answer(struct crowd *crowd, struct crowd_place *place);
/* The client has read its answer. Beyond CROWD_KEPT the connection is ended. */
void crowd_rest(struct crowd *crowd, struct crowd_place *place);
void crowd_leave(struct crowd_place *place);
