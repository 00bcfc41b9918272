/* SPDX-License-Identifier: MIT */
#include "member.h"

#include <stddef.h>

#define NEVER INT64_MAX

void member_init(struct member *member, const struct member_setup *setup, uint64_t seed)
{
	*member = (struct member){ .setup = *setup, .random = { seed } };
	member->last = &member->first;
}

static bool member_has_fault(const struct member *member, enum member_fault fault, int64_t now)
{
	return member->setup.fault == fault && now >= member->setup.from && now < member->setup.to;
}

/* When it works: now, or after the hang or stall that it is in. */
static int64_t member_works(const struct member *member, int64_t now)
{
	const struct member_setup *setup = &member->setup;
	int64_t into;

	if (member_has_fault(member, MEMBER_HANGS, now))
		return setup->to;
	if (setup->fault != MEMBER_STALLS || now < setup->from)
		return now;
	into = (now - setup->from) % setup->period;
	return into < setup->to - setup->from ? now - into + setup->to - setup->from : now;
}

static int64_t member_service(struct member *member, int64_t now)
{
	const struct member_setup *setup = &member->setup;
	double took = (double)setup->service * (1 - setup->spread + setup->spread * random_wait(&member->random));

	return (int64_t)took * (member_has_fault(member, MEMBER_SLOW, now) ? (int64_t)setup->slower : 1);
}

/* When the cap lets it begin. */
static int64_t member_gate(struct member *member, int64_t now)
{
	int64_t oldest = now - member->setup.burst;

	if (member->setup.cap <= 0)
		return now;
	if (member->gate < oldest)
		member->gate = oldest;
	member->gate += (int64_t)(1e9 / member->setup.cap);
	return member->gate > now ? member->gate : now;
}

/* When what is there by then has passed the port, which it keeps busy for so many ns. */
static int64_t member_pass(struct member *member, int64_t now, int64_t takes)
{
	if (!takes)
		return now;
	member->port = (member->port > now ? member->port : now) + takes;
	return member->port;
}

static void member_begin(struct member *member, struct events *events, struct sim_read *read, int64_t now)
{
	int64_t begin = member_works(member, member_gate(member, now)), end;

	member->busy++;
	if (begin == NEVER)
		return;
	read->events++;
	end = member_pass(member, begin + member_service(member, begin), member->setup.passes);
	events_add(events, (struct event){ .time = end, .kind = EVENT_DONE, .worker = read->worker, .read = read });
}

void member_write(struct member *member, struct events *events, struct sim_read *write, int64_t now)
{
	int64_t takes = member->setup.writes * write->writes / MEMBER_PIECE;

	write->events++;
	events_add(events, (struct event){ .time = member_pass(member, now, takes), .kind = EVENT_DONE,
					   .worker = write->worker, .read = write });
}

void member_submit(struct member *member, struct events *events, struct sim_read *read, int64_t now)
{
	read->started = now;
	read->next = NULL;
	if (member->busy < member->setup.channels) {
		member_begin(member, events, read, now);
		return;
	}
	*member->last = read;
	member->last = &read->next;
}

bool member_done(struct member *member, struct events *events, struct sim_read *read, int64_t now)
{
	int64_t works = member_works(member, now);
	struct sim_read *next = member->first;

	if (works == NEVER)
		return false;
	if (works > now) {
		read->events++;
		events_add(events, (struct event){ .time = works, .kind = EVENT_DONE, .worker = read->worker,
						   .read = read });
		return false;
	}
	read->failed = member_has_fault(member, MEMBER_FAILS, now);
	member->busy--;
	member->reads++;
	if (!next)
		return true;
	member->first = next->next;
	if (!member->first)
		member->last = &member->first;
	member_begin(member, events, next, now);
	return true;
}
