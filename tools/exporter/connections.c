/* SPDX-License-Identifier: MIT */
/* Orders connections by a counter of events, which needs no clock. */
#include "exporter/connections.h"

#include <assert.h>
#include <poll.h>
#include <stddef.h>
#include <sys/socket.h>

static void connections_end(struct connection *place)
{
	place->is_ended = true;
	shutdown(place->fd, SHUT_RDWR);
}

static bool connections_counts(const struct connection *place)
{
	return place->turn && !place->is_ended;
}

static unsigned connections_count(const struct connections *all)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		count += connections_counts(&all->places[i]);
	return count;
}

/* Returns how many connections the peer has, except those that were ended. */
static unsigned connections_share(const struct connections *all, const struct peer *peer)
{
	unsigned count = 0;

	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		count += connections_counts(&all->places[i]) && peer_is_same(&all->places[i].peer, peer);
	return count;
}

static bool connections_may_end(const struct connection *place)
{
	return connections_counts(place) && !place->is_waiting;
}

/* Finds a connection whose peer is gone, with one poll(2) for all: one for each would cost more than accepting one. */
static struct connection *connections_gone(struct connections *all)
{
	struct pollfd polled[CONNECTIONS_MOST];

	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		polled[i] = (struct pollfd){ .fd = connections_may_end(&all->places[i]) ? all->places[i].fd : -1,
					     .events = POLLRDHUP };
	if (poll(polled, CONNECTIONS_MOST, 0) <= 0)
		return NULL;
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		if (polled[i].revents && peer_is_gone(polled[i].fd))
			return &all->places[i];
	return NULL;
}

/* Counts the connections of each place's peer, in shares[first[i]]: first[i] is the first place of the same peer. */
static void connections_count_shares(const struct connections *all, unsigned first[CONNECTIONS_MOST],
				     unsigned shares[CONNECTIONS_MOST])
{
	unsigned k;

	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		first[i] = i;
		shares[i] = 0;
		if (!connections_counts(&all->places[i]))
			continue;
		for (k = 0; k < i; k++)
			if (shares[k] && peer_is_same(&all->places[k].peer, &all->places[i].peer))
				break;
		first[i] = k;
		shares[k]++;
	}
}

/* Returns the oldest connection of the peer with the most connections, the new one included. NULL: no peer has as many
 * as largest, or all its connections wait for metrics or were ended already. */
static struct connection *connections_oldest(struct connections *all, const struct peer *newcomer, unsigned largest)
{
	unsigned first[CONNECTIONS_MOST], shares[CONNECTIONS_MOST], share;
	struct connection *oldest = NULL, *place;

	connections_count_shares(all, first, shares);
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++) {
		place = &all->places[i];
		share = shares[first[i]] + peer_is_same(&place->peer, newcomer);
		if (!connections_may_end(place) || share < largest ||
		    (oldest && share == largest && place->turn > oldest->turn))
			continue;
		largest = share;
		oldest = place;
	}
	return oldest;
}

/* Returns whether one more may enter, and ends another connection if needed. A peer with fewer connections than the
 * newcomer's is spared; one with up to CONNECTIONS_SHARE loses one only when hardly a place is left. */
static bool connections_make_way(struct connections *all, const struct peer *peer)
{
	unsigned count = connections_count(all), own = connections_share(all, peer) + 1;
	struct connection *place;

	if (count < CONNECTIONS_KEPT)
		return true;
	place = connections_gone(all);
	if (!place)
		place = connections_oldest(all, peer, own > CONNECTIONS_SHARE ? own + 1 : CONNECTIONS_SHARE + 1);
	if (!place && own <= CONNECTIONS_SHARE && count < CONNECTIONS_MOST - CONNECTIONS_SHARE)
		return true;
	if (!place)
		place = connections_oldest(all, peer, own);
	if (place)
		connections_end(place);
	return place || own <= CONNECTIONS_SHARE;
}

static struct connection *connections_free_place(struct connections *all)
{
	for (unsigned i = 0; i < CONNECTIONS_MOST; i++)
		if (!all->places[i].turn)
			return &all->places[i];
	return NULL;
}

bool connections_have_room(struct connections *all)
{
	return connections_free_place(all);
}

struct connection *connections_add(struct connections *all, int fd, const struct peer *peer)
{
	struct connection *place = connections_free_place(all);

	assert(place);
	if (!connections_make_way(all, peer))
		return NULL;
	*place = (struct connection){ .turn = ++all->turns, .fd = fd, .peer = *peer };
	return place;
}

void connections_wait(struct connection *place)
{
	place->is_waiting = true;
}

void connections_answer(struct connections *all, struct connection *place)
{
	place->is_waiting = false;
	place->turn = ++all->turns;
}

void connections_rest(struct connections *all, struct connection *place)
{
	place->turn = ++all->turns;
	if (connections_count(all) > CONNECTIONS_KEPT)
		connections_end(place);
}

void connections_remove(struct connection *place)
{
	place->turn = 0;
}
