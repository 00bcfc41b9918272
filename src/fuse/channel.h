/* SPDX-License-Identifier: MIT */
/* Where FUSE requests come from and replies go. A channel belongs to one worker; it owns the memory of the requests
 * in flight (slots) and passes each request to the worker's table of handlers. A handler answers at once or later, from
 * a completion, and ends its work on the request with channel_release(). */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fuse/wire.h"
#include "io/engine.h"

struct channel;

struct channel_request {
	struct request wire; /* name and rest are valid until the handler returns */
	struct channel *channel;
	unsigned slot;    /* 0 .. slots - 1, for what the handler keeps beside the request */
	uint8_t *payload; /* page-aligned room for the data of the reply */
	size_t payload_size;
	int64_t arrived; /* ns, monotonic clock */
	/* Unique number of the request while nobody has answered it, else 0. Whoever takes it answers: the
	 * handler, or another worker that got the INTERRUPT for it. */
	_Atomic uint64_t owed;
	_Atomic uint32_t pid; /* whose request it is, for that other worker */
	bool taken;           /* the channel's, as is the next */
	struct channel_request *next_free;
};

/* By opcode; other takes what has no handler. context is the worker. */
struct channel_handlers {
	void (*handle[WIRE_OPCODES])(void *context, struct channel_request *request);
	void (*other)(void *context, struct channel_request *request);
	void (*enter)(void *context); /* before and after each handler; both may be NULL */
	void (*leave)(void *context);
};

struct channel_setup {
	const struct channel_handlers *handlers;
	void *context;
	int session_fd;      /* the mount's /dev/fuse */
	unsigned slots;      /* requests in work at most */
	size_t payload_size; /* of each */
};

struct channel_ops {
	/* Hands requests to the handlers until there are none or no free slot; *ret_drained says which.
	 * -ENODEV: the filesystem is unmounted. -ECONNABORTED: its connection was aborted. */
	int (*receive)(struct channel *channel, bool *ret_drained, struct error *err);
	/* Called once by the channel's thread, when it has its engine. NULL where nothing is to be done. */
	int (*start)(struct channel *channel, struct engine *engine, struct error *err);
	/* Any thread, or the channel's own when own_thread. error 0 or a negative errno; data may lie in the payload or
	 * elsewhere. */
	int (*reply)(struct channel *channel, uint64_t unique, int error, const void *data, size_t length,
		     struct channel_request *request);
	void (*release)(struct channel *channel, struct channel_request *request);
	/* Answers EIO to what came before that time (ns) and could not be handed to a handler: see channel_expire().
	 * The channel's thread. NULL where that cannot be. */
	void (*expire)(struct channel *channel, int64_t before);
	void (*free)(struct channel *channel);
	bool own_thread;
};

struct channel {
	const struct channel_ops *ops;
	const struct channel_handlers *handlers;
	void *context;
	struct channel_request *requests; /* all slots */
	unsigned slots, busy;             /* busy: slots taken */
	bool ending; /* the owner's switch: what comes from now on is left to the end of the connection */
	int poll_fd; /* readable when there are requests; -1: they come by completions of the engine */
	unsigned commands; /* to the session's descriptor at most, by the engine; 0: none */
};

/* Queues of FUSE over io_uring: one for each possible CPU, depths are entries. */
struct channel_queues {
	const uint16_t *numbers, *depths;
	unsigned count;
};

static inline unsigned channel_queues_slots(const struct channel_queues *queues)
{
	unsigned slots = 0;

	for (unsigned i = 0; i < queues->count; i++)
		slots += queues->depths[i];
	return slots;
}

/* FUSE over io_uring: setup->slots must be channel_queues_slots(). */
must_check int channel_ring_new(const struct channel_setup *setup, const struct channel_queues *queues,
				struct channel **ret, struct error *err);
/* /dev/fuse, by a descriptor of its own. */
must_check int channel_dev_new(const struct channel_setup *setup, struct channel **ret, struct error *err);
void channel_free(struct channel *channel);

must_check static inline int channel_start(struct channel *channel, struct engine *engine, struct error *err)
{
	return channel->ops->start ? channel->ops->start(channel, engine, err) : 0;
}

must_check static inline int channel_receive(struct channel *channel, bool *ret_drained, struct error *err)
{
	return channel->ops->receive(channel, ret_drained, err);
}

/* Calls the handler of a parsed request. */
void channel_dispatch(struct channel *channel, struct channel_request *request);
/* True when the kernel took the reply; false when the request was answered already or is gone. */
bool channel_answer(struct channel_request *request, int error, const void *data, size_t length);
/* The thread that waits for the request with this number, 0 when it is not in work here or channel_interrupt() would
 * refuse it. Any thread. */
uint32_t channel_waiter(struct channel *channel, uint64_t unique);
/* Answers the request with this number EINTR if it is in work here, unless own_thread. Any thread. The slot stays taken
 * until its handler releases it, so a device read under way has its memory to itself. */
bool channel_interrupt(struct channel *channel, uint64_t unique);
/* Answers the request with this number EIO if it is still owed: the device takes too long. Any thread, or the channel's
 * own when own_thread. As after channel_interrupt() slot and payload stay with the handler until it releases them. On
 * /dev/fuse that is all. Over io_uring the kernel fills the entry with its next request at once, while a device read
 * may still write to the payload: that request is deferred until then, and answered EIO when what it brought in the
 * payload cannot be trusted any more. */
bool channel_expire(struct channel_request *request, uint64_t unique);
/* Answers the request with this number if it is still owed, with data that does not lie in its payload: for somebody
 * beside its worker. Not where own_thread. As after channel_expire() slot and payload stay with the handler. */
bool channel_answer_for(struct channel_request *request, uint64_t unique, const void *data, size_t length);
/* Somebody answered early. */
static inline bool channel_is_answered(const struct channel_request *request)
{
	return atomic_load_explicit(&request->owed, memory_order_relaxed) == 0;
}
void channel_release(struct channel_request *request);
