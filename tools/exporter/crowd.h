/* SPDX-License-Identifier: MIT */
/* Which connections the server has, and which of them has to go when others come: clients that never end their request
 * or never take their answer keep nobody else out. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define CROWD_KEPT 32u /* connections; further ones end others */
#define CROWD_MOST 48u /* with those that wait for metrics, which are not ended, and those that are about to be gone */

struct crowd_place {
	uint64_t turn; /* 0: free. When it came, was answered, or had taken its answer: the least is the oldest */
	int fd;
	bool is_waiting, is_ended;
};

struct crowd {
	struct crowd_place places[CROWD_MOST];
	uint64_t turns;
};

/* One comes: there must not be CROWD_MOST. Beyond CROWD_KEPT, the one of the others that was silent for longest is
 * ended by shutdown(2), and leaves when its owner notices that. */
struct crowd_place *crowd_enter(struct crowd *crowd, int fd);
/* It waits for metrics, and then gets them. */
void crowd_wait(struct crowd_place *place);
void crowd_answer(struct crowd *crowd, struct crowd_place *place);
/* It has taken its answer. Beyond CROWD_KEPT it is ended. */
void crowd_rest(struct crowd *crowd, struct crowd_place *place);
void crowd_leave(struct crowd_place *place);
