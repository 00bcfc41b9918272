/* SPDX-License-Identifier: MIT */
/* Delivers FUSE requests to a worker's handler, and their replies to the kernel. A channel belongs to one worker and
 * owns the memory of the requests in flight (slots). A handler answers at once or later, from a completion, and ends
 * its work on the request with channel_release(). */
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
	/* Unique number of the request until it is answered, then 0. The thread that sets it to 0 sends the answer: the
	 * handler's, or that of another worker that got the INTERRUPT for it. */
	_Atomic uint64_t owed;
	_Atomic uint32_t pid; /* tid of the thread that waits for the answer; any thread may load it */
	bool taken;           /* used by the channel, as is next_free */
	struct channel_request *next_free;
};

/* Handles any request, on the channel's thread. */
typedef void channel_handler(void *context, struct channel_request *request);

struct channel_setup {
	channel_handler *handle;
	void *context; /* its worker */
	int session_fd;      /* the mount's /dev/fuse */
	int clone;           /* of it, for a channel of /dev/fuse, which closes it in any case; -1: it makes one */
	unsigned slots;      /* most requests in progress */
	size_t payload_size; /* bytes of payload for each slot */
};

struct channel_ops {
	/* Passes requests to the handler until no request is left, which sets *ret_drained, or no slot is free, or
	 * those of one turn are taken, which sets has_more.
	 * -ENODEV: the filesystem is unmounted. -ECONNABORTED: its connection was aborted. */
	int (*receive)(struct channel *channel, bool *ret_drained, struct error *err);
	/* Called once by the channel's thread when it has its engine. NULL if there is nothing to do. */
	int (*start)(struct channel *channel, struct engine *engine, struct error *err);
	/* Sends a reply. Any thread may call it; if own_thread is set, only the channel's. error is 0 or a negative
	 * errno; data may be in the payload or elsewhere. */
	int (*reply)(struct channel *channel, uint64_t unique, int error, const void *data, size_t length,
		     struct channel_request *request);
	void (*release)(struct channel *channel, struct channel_request *request);
	/* Answers EIO to requests that arrived before this time (ns, monotonic) and were deferred, see
	 * channel_expire(). Called by the channel's thread. NULL if requests are never deferred. */
	void (*expire)(struct channel *channel, int64_t before);
	void (*free)(struct channel *channel);
	bool own_thread;
};

struct channel {
	const struct channel_ops *ops;
	channel_handler *handle;
	void *context;
	struct channel_request *requests; /* all slots */
	unsigned slots, busy;             /* busy: slots taken */
	bool has_more; /* receive() stopped at the end of its turn, so there may be more requests */
	bool ending; /* set by the owner: new requests are left to the end of the connection */
	int poll_fd; /* readable when there are requests; -1: they come as completions of the engine */
	unsigned commands; /* most commands that the engine has in flight on session_fd; 0: none */
};

/* Queues of FUSE over io_uring, one for each possible CPU; depths are numbers of entries. */
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

/* Makes a channel of FUSE over io_uring. setup->slots must be channel_queues_slots(). */
must_check int channel_ring_new(const struct channel_setup *setup, const struct channel_queues *queues,
				struct channel **ret, struct error *err);
/* Makes a channel with its own clone of the mount's /dev/fuse, which is its poll_fd. */
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

/* Answers a request. True if the kernel took the reply; false if the request was answered already or no longer
 * exists. */
bool channel_answer(struct channel_request *request, int error, const void *data, size_t length);
/* Returns the tid of the thread that waits for the request with this number; 0 if it is not in progress on this
 * channel, or own_thread is set. Any thread may call it. */
uint32_t channel_waiter(struct channel *channel, uint64_t unique);
/* Answers EINTR to the request with this number if it is in progress on this channel, unless own_thread is set. True if
 * the kernel took the reply. Any thread may call it. The slot stays taken until its handler releases it, so a device
 * read in flight keeps its memory. */
bool channel_interrupt(struct channel *channel, uint64_t unique);
/* Answers EIO to the request with this number if it is still owed, because the device takes too long. Any thread may
 * call it; if own_thread is set, only the channel's. Slot and payload stay with the handler until it releases them. On
 * /dev/fuse that is all. Over io_uring the kernel fills the entry with its next request at once, while a device read
 * may still write to the payload: that request is deferred until the release, and answered EIO if the part of it that
 * came in the payload can no longer be trusted. */
bool channel_expire(struct channel_request *request, uint64_t unique);
/* True if another thread has answered the request. */
static inline bool channel_is_answered(const struct channel_request *request)
{
	return atomic_load_explicit(&request->owed, memory_order_relaxed) == 0;
}
void channel_release(struct channel_request *request);
