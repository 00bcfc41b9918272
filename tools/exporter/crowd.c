/* SPDX-License-Identifier: MIT */
/* Orders connections by a counter of events, which needs no clock. */
#include "exporter/crowd.h"

#include <assert.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

static void crowd_end(struct crowd_place *place)
{
	place->is_ended = true;
	shutdown(place->fd, SHUT_RDWR);
}

static bool crowd_counts(const struct crowd_place *place)
{
	return place->turn && !place->is_ended;
}

static unsigned crowd_count(const struct crowd *crowd)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CROWD_MOST; i++)
		count += crowd_counts(&crowd->places[i]);
	return count;
}

/* Returns how many connections the peer has, except those that were ended. */
static unsigned crowd_share(const struct crowd *crowd, const struct peer *peer)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CROWD_MOST; i++)
		count += crowd_counts(&crowd->places[i]) && peer_is_same(&crowd->places[i].peer, peer);
	return count;
}

static bool crowd_may_end(const struct crowd_place *place)
{
	return crowd_counts(place) && !place->is_waiting;
}

/* Finds a connection whose peer is gone, with one poll(2) for all: one for each would cost more than accepting one. */
static struct crowd_place *crowd_gone(struct crowd *crowd)
{
	struct pollfd polled[CROWD_MOST];

	for (unsigned i = 0; i < CROWD_MOST; i++)
		polled[i] = (struct pollfd){ .fd = crowd_may_end(&crowd->places[i]) ? crowd->places[i].fd : -1,
					     .events = POLLRDHUP };
	if (poll(polled, CROWD_MOST, 0) <= 0)
		return NULL;
	for (unsigned i = 0; i < CROWD_MOST; i++)
		if (polled[i].revents && peer_is_gone(polled[i].fd))
			return &crowd->places[i];
	return NULL;
}

/* Counts the connections of each place's peer, in shares[first[i]]: first[i] is the first place of the same peer. */
static void crowd_count_shares(const struct crowd *crowd, unsigned first[CROWD_MOST], unsigned shares[CROWD_MOST])
{
	unsigned k;

	for (unsigned i = 0; i < CROWD_MOST; i++) {
		first[i] = i;
		shares[i] = 0;
		if (!crowd_counts(&crowd->places[i]))
			continue;
		for (k = 0; k < i; k++)
			if (shares[k] && peer_is_same(&crowd->places[k].peer, &crowd->places[i].peer))
				break;
		first[i] = k;
		shares[k]++;
	}
}

/* Returns the oldest connection of the peer with the most connections, the new one included. NULL: no peer has as many
 * as largest, or all its connections wait for metrics or were ended already. */
static struct crowd_place *crowd_oldest(struct crowd *crowd, const struct peer *newcomer, unsigned largest)
{
	unsigned first[CROWD_MOST], shares[CROWD_MOST], share;
	struct crowd_place *oldest = NULL, *place;

	crowd_count_shares(crowd, first, shares);
	for (unsigned i = 0; i < CROWD_MOST; i++) {
		place = &crowd->places[i];
		share = shares[first[i]] + peer_is_same(&place->peer, newcomer);
		if (!crowd_may_end(place) || share < largest ||
		    (oldest && share == largest && place->turn > oldest->turn))
			continue;
		largest = share;
		oldest = place;
	}
	return oldest;
}

/* Returns whether one more may enter, and ends another connection if needed. A peer with fewer connections than the
 * newcomer's is spared; one with up to CROWD_SHARE loses one only when hardly a place is left. */
static bool crowd_make_way(struct crowd *crowd, const struct peer *peer)
{
	unsigned count = crowd_count(crowd), own = crowd_share(crowd, peer) + 1;
	struct crowd_place *place;

	if (count < CROWD_KEPT)
		return true;
	place = crowd_gone(crowd);
	if (!place)
		place = crowd_oldest(crowd, peer, own > CROWD_SHARE ? own + 1 : CROWD_SHARE + 1);
	if (!place && own <= CROWD_SHARE && count < CROWD_MOST - CROWD_SHARE)
		return true;
	if (!place)
		place = crowd_oldest(crowd, peer, own);
	if (place)
		crowd_end(place);
	return place || own <= CROWD_SHARE;
}

static struct crowd_place *crowd_free_place(struct crowd *crowd)
{
	for (unsigned i = 0; i < CROWD_MOST; i++)
		if (!crowd->places[i].turn)
			return &crowd->places[i];
	return NULL;
}

bool crowd_has_room(struct crowd *crowd)
{
	return crowd_free_place(crowd);
}

struct crowd_place *crowd_enter(struct crowd *crowd, int fd, const struct peer *peer)
{
	struct crowd_place *place = crowd_free_place(crowd);

	assert(place);
	if (!crowd_make_way(crowd, peer))
		return NULL;
	*place = (struct crowd_place){ .turn = ++crowd->turns, .fd = fd, .peer = *peer };
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
	if (crowd_count(crowd) > CROWD_KEPT)
		crowd_end(place);
}

void crowd_leave(struct crowd_place *place)
{
	place->turn = 0;
}
