/* SPDX-License-Identifier: MIT */
/* Orders connections by a counter of events, which needs no clock. */
#include "exporter/crowd.h"

#include <assert.h>
#include <stddef.h>
#include <sys/socket.h>

static void crowd_end(struct crowd_place *place)
{
	place->is_ended = true;
	shutdown(place->fd, SHUT_RDWR);
}

static bool crowd_is_too_large(const struct crowd *crowd)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CROWD_MOST; i++)
		count += crowd->places[i].turn && !crowd->places[i].is_ended;
	return count > CROWD_KEPT;
}

/* NULL: all others wait for metrics or were ended already. */
static struct crowd_place *crowd_oldest(struct crowd *crowd, const struct crowd_place *except)
{
	struct crowd_place *oldest = NULL, *place;

	for (unsigned i = 0; i < CROWD_MOST; i++) {
		place = &crowd->places[i];
		if (place != except && place->turn && !place->is_waiting && !place->is_ended &&
		    (!oldest || place->turn < oldest->turn))
			oldest = place;
	}
	return oldest;
}

struct crowd_place *crowd_enter(struct crowd *crowd, int fd)
{
	struct crowd_place *place = crowd->places, *oldest;

	while (place < crowd->places + CROWD_MOST && place->turn)
		place++;
	assert(place < crowd->places + CROWD_MOST);
	*place = (struct crowd_place){ .turn = ++crowd->turns, .fd = fd };
	oldest = crowd_is_too_large(crowd) ? crowd_oldest(crowd, place) : NULL;
	if (oldest)
		crowd_end(oldest);
	return place;
}

void crowd_wait(struct crowd_place *place)
{
	place->is_waiting = true;
}

void crowd_answer(struct crowd *crowd, struct crowd_place *place)
{
	place->is_waiting = false;
	place->turn = ++crowd->turns;
}

void crowd_rest(struct crowd *crowd, struct crowd_place *place)
{
	place->turn = ++crowd->turns;
	if (crowd_is_too_large(crowd))
		crowd_end(place);
}

void crowd_leave(struct crowd_place *place)
{
	place->turn = 0;
}
