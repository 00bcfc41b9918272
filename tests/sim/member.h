/* SPDX-License-Identifier: MIT */
/* A device as a queue with channels: how long a read of it takes, and what is wrong with it from when on. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "events.h"
#include "random.h"

#define MEMBER_PIECE 131072u /* bytes: large writes pass in such pieces, and reads in between */

enum member_fault {
	MEMBER_FINE,
	MEMBER_SLOW,  /* each read takes so many times as long */
	MEMBER_HANGS, /* no read ends; those that began neither */
	MEMBER_FAILS, /* every read ends with EIO */
	MEMBER_STALLS, /* it does nothing for a while, again and again */
};

struct member_setup {
	uint32_t channels;  /* reads at a time */
	int64_t service;    /* ns of a read, mean */
	double spread;      /* the part of it that is exponentially distributed; the rest is the same for all */
	double cap;         /* reads a second at most; 0: no limit */
	int64_t burst;      /* ns of unused cap that are made up for */
	int64_t passes;     /* ns that the port before it is busy with a read; 0: no limit */
	int64_t writes;     /* the same of MEMBER_PIECE bytes that are written; 0: they take no time */
	enum member_fault fault;
	unsigned slower;    /* times, of MEMBER_SLOW */
	int64_t from, to;   /* ns, of the fault; of MEMBER_STALLS, the first stall */
	int64_t period;     /* ns, of MEMBER_STALLS */
};

struct sim_read {
	struct sim_read *next;          /* in the member's queue, or of those that the window holds back */
	struct sim_read *after, *before; /* of those that the worker waits for */
	uint32_t worker, member, epoch;
	uint64_t id, block;             /* of the file, and where the worker's cache may have it */
	uint32_t primary, first, tries; /* the member of the first copy; as struct read_fetch */
	int64_t arrived;                /* at the worker, ns */
	int64_t started;                /* at the member */
	uint32_t events;                /* that will still name it */
	bool was_left;                  /* nobody waits for it any more */
	bool failed;
	bool may_hit;                   /* that is so */
	bool is_hit;                    /* the cache is read */
	bool is_over;                   /* kept for an event alone */
	uint32_t writes;                /* bytes; 0: it is a read */
	bool is_counted;                /* the window counts it as under way */
};

struct member {
	struct member_setup setup;
	struct random random;
	uint32_t busy;
	int64_t gate; /* when the cap lets the next read begin */
	int64_t port; /* when the port is free */
	struct sim_read *first, **last; /* that wait for a channel */
	uint64_t reads;
};

void member_init(struct member *member, const struct member_setup *setup, uint64_t seed);
void member_submit(struct member *member, struct events *events, struct sim_read *read, int64_t now);
/* Begins to write a piece. It takes no channel, as drives write later what they have taken. */
void member_write(struct member *member, struct events *events, struct sim_read *write, int64_t now);
/* EVENT_DONE came. False: not yet, the member is not there. Else its next read begins. */
bool member_done(struct member *member, struct events *events, struct sim_read *read, int64_t now);
