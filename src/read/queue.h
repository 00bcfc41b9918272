/* SPDX-License-Identifier: MIT */
/* The reads that one thread has under way: a reader with its engine, and slots. A slot has the state and the memory of
 * one read. It is free, or taken by the owner of the queue, who has it read, or left to a device that keeps its read.
 *
 * The owner says what is read and what happens then. His own slots begin with a struct queue_slot. */
#pragma once
#include "read/read.h"

#define QUEUE_FOR_EVER INT64_MAX

struct queue;

enum queue_state { QUEUE_IDLE, QUEUE_READING, QUEUE_LEFT };

struct queue_slot {
	struct read_op op; /* must be the first field */
	struct queue *queue;
	uint32_t number; /* from 0 */
	enum queue_state state;
};

struct queue_client {
	size_t slot_size; /* of the owner's slots, which begin zeroed */
	const struct reader_events *events;
	/* The read has ended, see read_request.done. The slot stays taken. */
	void (*done)(struct queue_slot *slot, int64_t result);
	/* The device has let go of a slot that was left to it; it is free after this. NULL: the owner does not mind. */
	void (*let_go)(struct queue_slot *slot);
	/* The read is stuck, see queue_leave_stuck(). NULL: none is ever left. */
	void (*stuck)(struct queue_slot *slot);
};

struct queue_setup {
	const struct queue_client *client;
	struct reader_setup reader; /* all but the events */
	unsigned depth;    /* the most slots that are taken */
	unsigned spare;    /* more slots, to take the place of those that are left */
	bool has_payloads; /* each slot has READ_MAX bytes for the content */
	bool is_huge;      /* the memory is on huge pages, as for large reads; else it is taken as little as needed */
	bool is_unshared;  /* a forked child does not get it: it would share what devices write to; not with is_huge */
};

/* Belongs to the thread that uses it, except what reader.h says of the reader. A zeroed queue may be closed. */
struct queue {
	struct reader reader; /* its engine: queue_start()'s, or one that the owner puts here */
	const struct queue_client *client;
	struct engine *engine; /* the queue's own; NULL: none */
	unsigned reading; /* slots that are being read */
	unsigned left;    /* slots that devices keep */
	bool watches;     /* set by the owner: waits look for stuck reads, as no other thread does */
	int64_t looked;   /* when one did last, ns, monotonic */
	unsigned count, spare;
	uint8_t *slots;   /* count * client->slot_size bytes, then the stack of numbers */
	uint32_t *free;   /* a stack: so few slots are touched, each of which is pages long */
	unsigned free_count;
	uint8_t *memory;  /* of the slots, one after the other: payload, scratch */
	size_t stride, payload_size;
	bool is_huge;
};

/* Makes the slots, without an engine. */
must_check int queue_open(struct queue *queue, const struct queue_setup *setup, struct error *err);
/* Makes the engine, on the thread that uses it: by first, or by second if that one fails and second is not NULL. */
typedef int queue_engine(const struct engine_setup *setup, struct engine **ret, struct error *err);
must_check int queue_start(struct queue *queue, const struct engine_setup *setup, queue_engine *first,
			   queue_engine *second, struct error *err);
/* Frees the queue's engine, on its thread; if not called, queue_close() does. Requires that no read is under way. */
void queue_stop(struct queue *queue);
/* Frees all but an engine that is not the queue's own. Requires that no read is under way. */
void queue_close(struct queue *queue);

static inline struct queue_slot *queue_at(const struct queue *queue, uint32_t number)
{
	return (struct queue_slot *)(queue->slots + number * queue->client->slot_size);
}

/* Takes the slot that was free last, or returns NULL: depth of them are taken, or devices keep the others. */
struct queue_slot *queue_take(struct queue *queue);
void queue_give(struct queue_slot *slot);
static inline bool queue_has_room(const struct queue *queue)
{
	return queue->free_count && queue->free_count + queue->left > queue->spare;
}

/* The slot's own memory: READ_MAX bytes, if the queue has payloads; READ_SCRATCH bytes. */
static inline uint8_t *queue_payload(const struct queue_slot *slot)
{
	return slot->queue->memory + slot->number * slot->queue->stride;
}

static inline uint8_t *queue_scratch(const struct queue_slot *slot)
{
	return queue_payload(slot) + slot->queue->payload_size;
}

/* Reads what slot->op.request says, to which scratch and done are added. May call client.done() before it returns. */
void queue_read(struct queue_slot *slot);

/* Submits what was begun and waits until something is done, for limit ns at most; 0: only looks. */
must_check int queue_wait(struct queue *queue, int64_t limit, struct error *err);
/* Waits until the slot's read has ended. */
must_check int queue_finish(struct queue_slot *slot, struct error *err);
/* Waits until no read is under way but those that were left. */
must_check int queue_drain(struct queue *queue, struct error *err);

/* Calls client.stuck() for each read that waits for a suspect member while another one has the bytes: read_is_stuck().
 * The owner may leave such a slot, also others then, and read the same with another one. */
void queue_leave_stuck(struct queue *queue);
/* Whether so many slots can be left and replaced. */
static inline bool queue_may_leave(const struct queue *queue, unsigned count)
{
	return queue->left + count <= queue->spare;
}

/* Leaves a slot that is being read, with its memory, to the device: read_leave(). Nobody wants its request any more. */
void queue_leave(struct queue_slot *slot);
