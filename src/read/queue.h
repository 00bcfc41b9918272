/* SPDX-License-Identifier: MIT */
/* The reads that one thread has under way: a reader, its engine, and slots. A slot has the state and the memory of one
 * read. A slot is free, or taken by the owner of the queue, or left to a device that does not return its read.
 *
 * The owner decides what to read and what to do with the result. The owner's own type of slot begins with a struct
 * queue_slot. */
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
	struct queue_slot *twin; /* the slot that was left because it was late, and the one that began its read again */
};

struct queue_client {
	size_t slot_size; /* of the owner's slots, which begin zeroed */
	const struct reader_events *events;
	/* Called when the read has ended, see read_request.done. The slot stays taken. */
	void (*done)(struct queue_slot *slot, int64_t result);
	/* Called when the device has let go of a slot that was left to it; the slot is free then. May be NULL. */
	void (*let_go)(struct queue_slot *slot);
	/* Called when the read is stuck, see queue_leave_stuck(). NULL: slots are never left. */
	void (*stuck)(struct queue_slot *slot);
};

struct queue_setup {
	const struct queue_client *client;
	struct reader_setup reader; /* all but the events */
	unsigned depth;    /* the most slots that are taken */
	unsigned spare;    /* further slots, which take the place of slots that are left */
	bool has_payloads; /* each slot has READ_MAX bytes for the content */
	bool is_huge;      /* the memory is on huge pages, for large reads; else only pages that are used take memory */
	bool is_unshared;  /* a forked child does not get the memory, as devices write to it; not with is_huge */
};

/* Belongs to the thread that uses it, except what reader.h says of the reader. A zeroed queue may be closed. */
struct queue {
	struct reader reader; /* its engine: queue_start()'s, or one that the owner puts here */
	const struct queue_client *client;
	struct engine *engine; /* the queue's own; NULL: none */
	unsigned reading; /* slots that are being read */
	unsigned left;    /* slots that devices keep */
	struct queue_slot *late; /* is being left, see queue_pause() */
	bool watches;     /* set by the owner: waits look for stuck reads, as no other thread does */
	int64_t looked;   /* when a wait last looked for stuck reads, ns, monotonic */
	unsigned count, spare;
	uint8_t *slots;   /* count * client->slot_size bytes, then the stack of numbers */
	uint32_t *free;   /* a stack, so that few slots are touched: each is several pages long */
	unsigned free_count;
	uint8_t *memory;  /* of the slots, one after the other: payload, scratch */
	size_t stride, payload_size;
	bool is_huge;
};

/* Makes the slots, without an engine. */
must_check int queue_open(struct queue *queue, const struct queue_setup *setup, struct error *err);
/* Makes the engine, on the thread that uses it: by first(), or if that fails, by second(), which may be NULL. */
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

/* Takes the slot that was freed last. NULL: depth slots are taken, or devices keep the others. */
struct queue_slot *queue_take(struct queue *queue);
void queue_give(struct queue_slot *slot);
static inline bool queue_has_room(const struct queue *queue)
{
	return queue->free_count && queue->free_count + queue->left > queue->spare;
}

/* The functions below return the slot's own memory: READ_MAX bytes, if the queue has payloads, and READ_SCRATCH
 * bytes. */
static inline uint8_t *queue_payload(const struct queue_slot *slot)
{
	return slot->queue->memory + slot->number * slot->queue->stride;
}

static inline uint8_t *queue_scratch(const struct queue_slot *slot)
{
	return queue_payload(slot) + slot->queue->payload_size;
}

/* Starts the read that slot->op.request describes, and fills in its scratch and done. May call client.done() before it
 * returns. */
void queue_read(struct queue_slot *slot);

/* Begins reads that the window has held back, and calls client.stuck() for those that are late (read_is_late()). It
 * returns for how many ns the next wait may last at most; 0: no limit. queue_wait() calls it. */
int64_t queue_pause(struct queue *queue);
/* Submits the reads that were begun and waits until one is done, for limit ns at most; 0: only looks. It may return
 * before that. */
must_check int queue_wait(struct queue *queue, int64_t limit, struct error *err);
/* Waits until the slot's read has ended. */
must_check int queue_finish(struct queue_slot *slot, struct error *err);
/* Waits until every read has ended, except those that were left. */
must_check int queue_drain(struct queue *queue, struct error *err);

/* Calls client.stuck() for each read that waits for a suspect member while another member has the bytes
 * (read_is_stuck()). stuck() may leave that slot, and others, and read the same bytes with another slot. */
void queue_leave_stuck(struct queue *queue);
/* Returns whether count more slots can be left and replaced. */
static inline bool queue_may_leave(const struct queue *queue, unsigned count)
{
	return queue->left + count <= queue->spare;
}

/* Leaves a slot that is being read, with its memory, to the device (read_leave()), because its request is not wanted
 * any more. */
void queue_leave(struct queue_slot *slot);
