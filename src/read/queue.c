/* SPDX-License-Identifier: MIT */
/* Lays out the slots, counts them, waits for their reads, and leaves the ones that do not come back to the devices. */
#include "read/queue.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/huge.h"
#include "base/round.h"
#include "read/hold.h"

#define QUEUE_LATE_MOST INT64_C(1000000000) /* ns: a read that becomes late after that is found by other looks */

/* --- set-up and end --- */

/* Only the stack is touched: a slot gets its first values when it is taken. */
static int queue_make_slots(struct queue *queue, struct error *err)
{
	size_t slots_size = queue->count * queue->client->slot_size;

	queue->slots = calloc(1, slots_size + queue->count * sizeof(*queue->free));
	if (!queue->slots)
		return error_no_memory(err);
	queue->free = (uint32_t *)(queue->slots + slots_size);
	for (uint32_t i = queue->count; i-- > 0;)
		queue->free[queue->free_count++] = i;
	return 0;
}

static int queue_make_memory(struct queue *queue, const struct queue_setup *setup, struct error *err)
{
	size_t size = queue->count * queue->stride;
	void *map;

	if (queue->is_huge) {
		queue->memory = huge_alloc(size);
		return queue->memory ? 0 : error_no_memory(err);
	}
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return error_errno(err, "cannot reserve %zu bytes for reads", size);
	if (setup->is_unshared)
		(void)madvise(map, size, MADV_DONTFORK);
	queue->memory = map;
	return 0;
}

int queue_open(struct queue *queue, const struct queue_setup *setup, struct error *err)
{
	struct reader_setup reader = setup->reader;
	int r;

	*queue = (struct queue){ .client = setup->client,
				 .count = setup->depth + setup->spare,
				 .spare = setup->spare,
				 .looked = clock_now(),
				 .payload_size = setup->has_payloads ? READ_MAX : 0,
				 .is_huge = setup->is_huge };
	queue->stride = round_up(queue->payload_size + READ_SCRATCH, queue->is_huge ? HUGE_PAGE : 1);
	reader.events = setup->client->events;
	r = reader_open(&queue->reader, &reader, err);
	if (r == 0)
		r = queue_make_slots(queue, err);
	if (r == 0)
		r = queue_make_memory(queue, setup, err);
	if (r < 0)
		queue_close(queue);
	return r;
}

int queue_start(struct queue *queue, const struct engine_setup *setup, queue_engine *first, queue_engine *second,
		struct error *err)
{
	int r = first(setup, &queue->engine, second ? NULL : err);

	if (r < 0 && second)
		r = second(setup, &queue->engine, err);
	if (r == 0)
		queue->reader.engine = queue->engine;
	return r;
}

void queue_stop(struct queue *queue)
{
	engine_free(queue->engine);
	queue->engine = queue->reader.engine = NULL;
}

void queue_close(struct queue *queue)
{
	queue_stop(queue);
	reader_close(&queue->reader);
	if (queue->is_huge)
		free(queue->memory);
	else if (queue->memory)
		munmap(queue->memory, queue->count * queue->stride);
	free(queue->slots);
	*queue = (struct queue){ 0 };
}

/* --- slots --- */

struct queue_slot *queue_take(struct queue *queue)
{
	struct queue_slot *slot;
	uint32_t number;

	if (!queue_has_room(queue))
		return NULL;
	number = queue->free[--queue->free_count];
	slot = queue_at(queue, number);
	slot->queue = queue;
	slot->number = number;
	return slot;
}

void queue_give(struct queue_slot *slot)
{
	slot->queue->free[slot->queue->free_count++] = slot->number;
}

static void queue_come_back(struct queue_slot *slot)
{
	struct queue *queue = slot->queue;

	slot->state = QUEUE_IDLE;
	if (queue->client->let_go)
		queue->client->let_go(slot);
	queue->left--;
	queue_give(slot);
}

/* Parts twins when one has ended. */
static void queue_part(struct queue_slot *slot)
{
	if (slot->twin)
		slot->twin->twin = NULL;
	slot->twin = NULL;
}

static void queue_done(struct read_op *op, int64_t result)
{
	struct queue_slot *slot = (struct queue_slot *)op;

	if (slot->twin && slot->state != QUEUE_LEFT && result >= 0)
		window_won(slot->queue->reader.setup.window);
	queue_part(slot);
	if (slot->state == QUEUE_LEFT) {
		queue_come_back(slot);
		return;
	}
	slot->state = QUEUE_IDLE;
	slot->queue->reading--;
	slot->queue->client->done(slot, result);
}

/* Lets a slot take the place of the one that is left because it is late: another member is read. */
static void queue_pair(struct queue_slot *slot)
{
	struct queue_slot *late = slot->queue->late;

	slot->queue->late = NULL;
	slot->op.avoided = late->op.avoided;
	slot->twin = late;
	late->twin = slot;
}

void queue_read(struct queue_slot *slot)
{
	slot->op.request.scratch = queue_scratch(slot);
	slot->op.request.done = queue_done;
	slot->op.avoided = 0;
	slot->twin = NULL;
	if (slot->queue->late)
		queue_pair(slot);
	slot->state = QUEUE_READING;
	slot->queue->reading++;
	read_begin(&slot->queue->reader, &slot->op);
}

/* --- waiting --- */

/* Looks no more often than members become suspect. */
static void queue_watch(struct queue *queue)
{
	int64_t now = clock_now();

	if (now - queue->looked < ROUTE_SILENCE)
		return;
	queue->looked = now;
	queue_leave_stuck(queue);
}

int queue_wait(struct queue *queue, int64_t limit, struct error *err)
{
	struct engine *engine = queue->reader.engine;
	int64_t pause = queue_pause(queue);
	bool readable;
	int r;

	if (queue->watches && limit > ROUTE_SILENCE)
		limit = ROUTE_SILENCE;
	if (pause && limit > pause)
		limit = pause;
	engine->timeout = limit == QUEUE_FOR_EVER ? 0 : limit;
	r = engine_wait(engine, limit > 0, &readable, err);
	if (r == 0 && queue->watches)
		queue_watch(queue);
	return r;
}

int queue_finish(struct queue_slot *slot, struct error *err)
{
	int r = 0;

	while (r == 0 && slot->state == QUEUE_READING)
		r = queue_wait(slot->queue, QUEUE_FOR_EVER, err);
	return r;
}

int queue_drain(struct queue *queue, struct error *err)
{
	int r = 0;

	while (r == 0 && queue->reading)
		r = queue_wait(queue, QUEUE_FOR_EVER, err);
	return r;
}

/* --- reads that are stuck --- */

static bool queue_is_stuck(const struct queue_slot *slot, int64_t now)
{
	return slot->state == QUEUE_READING &&
	       atomic_load_explicit(&slot->op.wait.since, memory_order_relaxed) < now &&
	       read_is_stuck(&slot->op, now);
}

/* Reads that the owner begins meanwhile, to repeat others, are not looked at. */
void queue_leave_stuck(struct queue *queue)
{
	int64_t now = clock_now();

	for (uint32_t i = 0; i < queue->count; i++)
		if (queue_is_stuck(queue_at(queue, i), now))
			queue->client->stuck(queue_at(queue, i));
}

/* Begins a late read again in another slot, if it can be left and not too many were. */
static void queue_hedge(struct queue_slot *slot, uint32_t member, int64_t now)
{
	struct queue *queue = slot->queue;

	if (slot->state != QUEUE_READING || !queue_may_leave(queue, 1) || !read_is_late(&slot->op, now) ||
	    !window_hedge(queue->reader.setup.window))
		return;
	hold_drop(&slot->op);
	slot->op.avoided = member + 1;
	queue->late = slot;
	queue->client->stuck(slot);
	queue->late = NULL;
}

/* Looks once at each read that has become late. Returns when the next one may be, in ns; 0: none. */
static int64_t queue_look_late(struct queue *queue)
{
	const struct window *window = queue->reader.setup.window;
	struct read_fetch *fetch = queue->reader.hold.oldest, *after;
	int64_t now = clock_now(), next = INT64_MAX, left;

	for (; fetch; fetch = after) {
		after = fetch->after;
		left = window_late(window, op_bytes(fetch)) - (now > fetch->started ? now - fetch->started : 0);
		if (fetch->was_late || fetch->op->left_to)
			continue;
		fetch->was_late = left <= 0;
		if (left <= 0)
			queue_hedge((struct queue_slot *)fetch->op, fetch->io.member, now);
		else if (left < next)
			next = left;
	}
	return next < QUEUE_LATE_MOST ? next : 0;
}

int64_t queue_pause(struct queue *queue)
{
	const struct window *window = queue->reader.setup.window;
	int64_t late = 0, held;

	if (!window)
		return 0;
	if (window->is_redundant && queue->client->stuck && queue->spare)
		late = queue_look_late(queue);
	held = read_look(&queue->reader);
	queue->reader.engine->pauses = held;
	return late && (!held || late < held) ? late : held;
}

void queue_leave(struct queue_slot *slot)
{
	slot->state = QUEUE_LEFT;
	slot->queue->reading--;
	slot->queue->left++;
	read_leave(&slot->op);
}
