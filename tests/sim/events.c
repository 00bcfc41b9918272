/* SPDX-License-Identifier: MIT */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>

static bool events_is_before(const struct event *a, const struct event *b)
{
	return a->time < b->time || (a->time == b->time && a->turn < b->turn);
}

static void events_grow(struct events *events)
{
	if (events->count < events->room)
		return;
	events->room = events->room ? events->room * 2 : 1024;
	events->list = realloc(events->list, events->room * sizeof(*events->list));
	if (!events->list) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
}

void events_add(struct events *events, struct event event)
{
	uint64_t at = events->count, parent;

	events_grow(events);
	events->count++;
	event.turn = events->turns++;
	for (; at; at = parent) {
		parent = (at - 1) / 2;
		if (!events_is_before(&event, &events->list[parent]))
			break;
		events->list[at] = events->list[parent];
	}
	events->list[at] = event;
}

bool events_next(struct events *events, struct event *ret)
{
	struct event last;
	uint64_t at = 0, child;

	if (!events->count)
		return false;
	*ret = events->list[0];
	last = events->list[--events->count];
	while ((child = 2 * at + 1) < events->count) {
		if (child + 1 < events->count && events_is_before(&events->list[child + 1], &events->list[child]))
			child++;
		if (!events_is_before(&events->list[child], &last))
			break;
		events->list[at] = events->list[child];
		at = child;
	}
	events->list[at] = last;
	return true;
}

void events_free(struct events *events)
{
	free(events->list);
}
