/* SPDX-License-Identifier: MIT */
/* Events to come, in the order of time; at the same time, in the order in which they were added. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_ARRIVAL, /* of a read, at a worker */
	EVENT_DONE,    /* a read, by its member */
	EVENT_COME,    /* a read, at its worker, as it has passed the network */
	EVENT_LOOK,    /* a worker looks for reads that are stuck */
	EVENT_LATE,    /* a read would be late now */
	EVENT_TAKE,    /* a worker asks its window again */
	EVENT_FILL,    /* a worker's cache writes what has waited for long */
	EVENT_CHANGE,  /* a new version of the data set comes */
};

struct event {
	int64_t time; /* ns */
	uint64_t turn;
	enum event_kind kind;
	uint32_t worker;
	void *read;
};

/* A binary heap. */
struct events {
	struct event *list;
	uint64_t count, room, turns;
};

void events_add(struct events *events, struct event event); /* turn is filled in; ends the program without memory */
bool events_next(struct events *events, struct event *ret); /* false: there is none */
void events_free(struct events *events);
