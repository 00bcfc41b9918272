/* SPDX-License-Identifier: MIT */
/* Keeps a reader's held reads in the order of their turns and, where there are several members, its counted ones in the
 * order in which they began. A new read gets the turn after its user's last one, or the present one. */
#include "read/hold.h"

#define HOLD_LOOK INT64_C(100000000)  /* ns between two looks at how busy the thread is */
#define HOLD_BUSY 0.5                 /* of the time: from there on the CPUs are the bottleneck */
#define HOLD_OLD  INT64_C(2000000000) /* ns after which the last one says nothing of the last read */

/* A thread that works in the background has no part of the window that others would be without. */
void hold_tell(struct reader *reader)
{
	bool claims = reader->hold.first && reader->setup.class != WINDOW_BACKGROUND;

	window_tell(reader->setup.window, &reader->hold.thread, claims);
}

/* ---- reads under way ---- */

static void hold_link(struct read_fetch *fetch)
{
	struct read_hold *hold = &fetch->op->reader->hold;

	fetch->before = hold->last;
	fetch->after = NULL;
	*(hold->last ? &hold->last->after : &hold->oldest) = fetch;
	hold->last = fetch;
}

static void hold_unlink(struct read_fetch *fetch)
{
	struct read_hold *hold = &fetch->op->reader->hold;

	*(fetch->before ? &fetch->before->after : &hold->oldest) = fetch->after;
	*(fetch->after ? &fetch->after->before : &hold->last) = fetch->before;
}

bool hold_lets(struct read_fetch *fetch, int64_t now)
{
	struct reader *reader = fetch->op->reader;
	const struct reader_setup *setup = &reader->setup;

	if (setup->route && route_is_suspect(setup->route, fetch->io.member, now))
		return true;
	if (!window_take(setup->window, setup->class, &reader->hold.thread, op_bytes(fetch), now))
		return false;
	if (fetch->state == READ_HELD)
		reader->hold.turn = fetch->turn;
	fetch->is_counted = true;
	if (setup->route)
		hold_link(fetch);
	return true;
}

/* Finds out for which part of the time the thread was busy, or waited for a CPU. The kernel's threads that serve its
 * reads (of a loop device, of TCP) wait as well, when a read begins and when it ends. They do not wait when it does, so
 * the share rises at once, and falls gradually. */
static void hold_look(struct read_hold *hold, int64_t now)
{
	struct busy busy = busy_look();
	int64_t since = now - hold->looked, ran = busy.ran - hold->busy.ran, waited = busy.waited - hold->busy.waited;
	double share = since < HOLD_OLD ? (double)(ran + 3 * waited) / (double)since : 1;

	hold->share = share > hold->share ? share : hold->share - (hold->share - share) / 4;
	hold->busy = busy;
	hold->looked = now;
}

/* Returns the part of a slow read's time in which its thread could not see that the read had ended. A device is too
 * slow only while its readers sleep: where they hardly do, all of the time counts. */
int64_t hold_own(struct reader *reader, int64_t took, int64_t now)
{
	struct read_hold *hold = &reader->hold;

	if (now - hold->looked >= HOLD_LOOK)
		hold_look(hold, now);
	return hold->share < HOLD_BUSY ? (int64_t)((double)took * hold->share) : took;
}

void hold_end(struct read_fetch *fetch, int64_t now)
{
	struct reader *reader = fetch->op->reader;
	struct window_read read = { .class = reader->setup.class, .member = fetch->io.member,
					  .bytes = op_bytes(fetch), .begun = fetch->started };

	if (!fetch->is_counted)
		return;
	fetch->is_counted = false;
	if (reader->setup.route)
		hold_unlink(fetch);
	if (window_is_slow(reader->setup.window, &read, now))
		read.own = hold_own(reader, now - fetch->started, now);
	window_end(reader->setup.window, &reader->hold.thread, &read, now, fetch->result);
}

static void hold_drop_one(struct read_fetch *fetch)
{
	struct reader *reader = fetch->op->reader;

	fetch->is_counted = false;
	hold_unlink(fetch);
	window_drop(reader->setup.window, reader->setup.class, &reader->hold.thread);
}

void hold_drop(struct read_op *op)
{
	struct read_fetch *fetch, *after;

	for (fetch = op->reader->hold.oldest; fetch; fetch = after) {
		after = fetch->after;
		if (fetch->op == op)
			hold_drop_one(fetch);
	}
}

void hold_drop_suspects(struct reader *reader, int64_t now)
{
	struct read_fetch *fetch, *after;

	for (fetch = reader->setup.route ? reader->hold.oldest : NULL; fetch; fetch = after) {
		after = fetch->after;
		if (route_is_suspect(reader->setup.route, fetch->io.member, now))
			hold_drop_one(fetch);
	}
}

/* ---- reads that wait ---- */

void hold_add(struct read_fetch *fetch, int64_t now)
{
	struct read_hold *hold = &fetch->op->reader->hold;
	uint32_t user = fetch->op->request.user;
	struct read_fetch **at = &hold->first;

	fetch->state = READ_HELD;
	fetch->started = now;
	fetch->turn = hold->turn;
	for (const struct read_fetch *held = hold->first; held; held = held->after)
		if (held->op->request.user == user)
			fetch->turn = held->turn + 1;
	while (*at && (*at)->turn <= fetch->turn)
		at = &(*at)->after;
	fetch->after = *at;
	*at = fetch;
	hold_tell(fetch->op->reader);
}

int64_t hold_pause(const struct reader *reader, int64_t now)
{
	const struct reader_setup *setup = &reader->setup;

	return reader->hold.first ? window_pause(setup->window, setup->class, reader->hold.thread.hungers, now) : 0;
}
