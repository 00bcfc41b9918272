/* SPDX-License-Identifier: MIT */
/* The channel over io_uring (Linux 6.14): a request is the completion of a command, its reply the next command, and
 * both use the ring of the device reads. An entry is a header and a payload that the kernel copies to and from; reply
 * data must begin at the payload's base, so a device read goes straight there.
 *
 * Each possible CPU has a queue, and all must have entries before the kernel uses any. A worker serves its own CPU's
 * queue and adopts those of CPUs without a worker. FORGET and INTERRUPT stay on /dev/fuse, which another worker
 * reads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/channel.h"
#include "fuse/payloads.h"

/* Room to assemble a request. The longest is an ioctl with its data, below 17 KiB. */
#define ASSEMBLE_SIZE 32768u
#define HEADER_SIZE   4096u /* a page each, because the kernel pins pages */

struct ring_queue {
	uint16_t number;
	unsigned alive; /* entries with the kernel or with a handler */
};

struct ring_entry {
	struct io_command command;
	struct channel_ring *ring;
	struct channel_request *request;
	struct wire_uring_header *header;
	struct iovec iov[2];
	struct ring_queue *queue;
	int64_t deferred; /* arrival of a request that waits for the slot's release, ns; 0: none */
};

struct channel_ring {
	struct channel channel;
	struct engine *engine;
	struct ring_entry *entries; /* one per slot */
	struct ring_queue *queues;
	unsigned alive; /* entries of all queues */
	/* A queue that lost all its entries to failed commands, other than by the end of the mount: requests from its
	 * CPU would wait for ever. */
	const struct ring_queue *starved;
	int why;
	uint8_t *headers;
	size_t headers_size;
	struct payloads payloads;
	uint8_t *assemble;
};

static void channel_ring_command(struct ring_entry *entry, uint32_t operation, uint64_t commit_id)
{
	struct wire_uring_command argument = { .commit_id = commit_id, .queue = entry->queue->number };
	bool registers = operation == WIRE_URING_REGISTER;

	entry->command.operation = operation;
	entry->command.iov = registers ? entry->iov : NULL;
	entry->command.iov_count = registers ? 2 : 0;
	memcpy(entry->command.argument, &argument, sizeof(argument));
	engine_command(entry->ring->engine, &entry->command);
}

/* Copies data from elsewhere to the payload; handlers that read from the device have it there already. */
static int channel_ring_reply(struct channel *channel, uint64_t unique, int error, const void *data, size_t length,
			      struct channel_request *request)
{
	struct channel_ring *ring = (struct channel_ring *)channel;
	struct ring_entry *entry = &ring->entries[request->slot];
	struct fuse_out_header out = { .len = (uint32_t)(sizeof(out) + length), .error = error, .unique = unique };

	if (length && data != request->payload)
		memmove(request->payload, data, length);
	memcpy(entry->header->in_out, &out, sizeof(out));
	entry->header->payload_size = (uint32_t)length;
	channel_ring_command(entry, WIRE_URING_COMMIT_FETCH, unique);
	return 0;
}

/* Answers a malformed request. None should come, but its process must not wait for ever. */
static void channel_ring_refuse(struct ring_entry *entry, const struct error *why)
{
	static struct log_limit limit = { .burst = 10 };
	unsigned suppressed;

	if (log_allow(&limit, &suppressed))
		log_err("malformed FUSE request: %s, suppressed=%u", why->reason, suppressed);
	channel_ring_reply(&entry->ring->channel, entry->header->commit_id, -EINVAL, NULL, 0, entry->request);
}

/* Takes the request that the entry brought. False: it is malformed, and answered. */
static bool channel_ring_take(struct ring_entry *entry)
{
	struct channel_ring *ring = entry->ring;
	struct channel_request *request = entry->request;
	struct error err;

	error_clear(&err);
	entry->deferred = 0;
	if (wire_parse_uring(entry->header, span_of(request->payload, request->payload_size), ring->assemble,
			     ASSEMBLE_SIZE, &request->wire, &err) < 0) {
		channel_ring_refuse(entry, &err);
		return false;
	}
	request->taken = true;
	ring->channel.busy++;
	request->arrived = clock_now();
	atomic_store_explicit(&request->pid, request->wire.pid, memory_order_relaxed);
	atomic_store(&request->owed, request->wire.unique);
	return true;
}

static void channel_ring_fail_deferred(struct ring_entry *entry)
{
	entry->deferred = 0;
	channel_ring_reply(&entry->ring->channel, entry->header->commit_id, -EIO, NULL, 0, entry->request);
}

/* Releases a slot. Its entry went to the kernel with the reply. After an early reply it may be back with another
 * request, whose name or data in the payload the device may have overwritten since. */
static void channel_ring_release(struct channel *channel, struct channel_request *request)
{
	struct channel_ring *ring = (struct channel_ring *)channel;
	struct ring_entry *entry = &ring->entries[request->slot];

	request->taken = false;
	channel->busy--;
	if (channel->ending)
		return;
	if (entry->deferred && entry->header->payload_size)
		channel_ring_fail_deferred(entry);
	else if (entry->deferred && channel_ring_take(entry))
		channel->handle(channel->context, request);
}

static void channel_ring_expire(struct channel *channel, int64_t before)
{
	struct channel_ring *ring = (struct channel_ring *)channel;

	for (unsigned i = 0; i < channel->slots; i++)
		if (ring->entries[i].deferred && ring->entries[i].deferred < before)
			channel_ring_fail_deferred(&ring->entries[i]);
}

/* ENOENT: the request was aborted before its reply came. ECONNABORTED: the connection was aborted, which the worker of
 * /dev/fuse reports. */
static bool channel_ring_is_end(int result)
{
	return result == -ENOTCONN || result == -ECANCELED || result == -ENODEV || result == -ENOENT ||
	       result == -ECONNABORTED;
}

/* Accounts for an entry that the kernel gives back for good. */
static void channel_ring_lose(struct ring_entry *entry, int result)
{
	static struct log_limit limit = { .burst = 1 };
	struct channel_ring *ring = entry->ring;
	unsigned suppressed;

	entry->queue->alive--;
	ring->alive--;
	if (channel_ring_is_end(result))
		return;
	if (log_allow(&limit, &suppressed))
		log_err("the kernel refuses an entry of queue %u of FUSE over io_uring: %s, left=%u suppressed=%u",
			entry->queue->number, strerror(-result), entry->queue->alive, suppressed);
	if (entry->queue->alive)
		return;
	ring->starved = entry->queue;
	ring->why = result;
}

static void channel_ring_done(struct io_command *command, int result)
{
	struct ring_entry *entry = (struct ring_entry *)command; /* its first member */
	struct channel *channel = &entry->ring->channel;

	if (result != 0)
		channel_ring_lose(entry, result);
	else if (channel->ending)
		return; /* closing the descriptors aborts it */
	else if (entry->request->taken)
		entry->deferred = clock_now();
	else if (channel_ring_take(entry))
		channel->handle(channel->context, entry->request);
}

/* Tells only whether there will be more requests; they come by completions. */
static int channel_ring_receive(struct channel *channel, bool *ret_drained, struct error *err)
{
	struct channel_ring *ring = (struct channel_ring *)channel;

	*ret_drained = false;
	if (ring->starved)
		return error_set(err, -EIO,
				 "queue %u of FUSE over io_uring has no entry left: %s; channel=dev works without it",
				 ring->starved->number, strerror(-ring->why));
	return ring->alive ? 0 : error_set(err, -ENODEV, "unmounted");
}

/* Registers the entries. The kernel holds back all requests until each queue has one, and refuses one now or never. */
static int channel_ring_start(struct channel *channel, struct engine *engine, struct error *err)
{
	struct channel_ring *ring = (struct channel_ring *)channel;
	bool readable;
	int r;

	ring->engine = engine;
	for (unsigned i = 0; i < channel->slots; i++) {
		ring->entries[i].queue->alive++;
		ring->alive++;
	}
	for (unsigned i = 0; i < channel->slots; i++)
		channel_ring_command(&ring->entries[i], WIRE_URING_REGISTER, 0);
	r = engine_wait(engine, false, &readable, err);
	return r < 0 || !ring->starved ? r : channel_ring_receive(channel, &readable, err);
}

static void channel_ring_free(struct channel *channel)
{
	struct channel_ring *ring = (struct channel_ring *)channel;

	if (ring->headers)
		munmap(ring->headers, ring->headers_size);
	payloads_free(&ring->payloads);
	free(ring->assemble);
	free(ring->queues);
	free(ring->entries);
	free(channel->requests);
	free(ring);
}

static void channel_ring_lay_out_slot(struct channel_ring *ring, unsigned slot, size_t payload_size,
				      struct ring_queue *queue)
{
	struct channel_request *request = &ring->channel.requests[slot];
	struct ring_entry *entry = &ring->entries[slot];

	request->channel = &ring->channel;
	request->slot = slot;
	request->payload = payloads_at(&ring->payloads, slot);
	request->payload_size = payload_size;
	*entry = (struct ring_entry){
		.command.done = channel_ring_done,
		.ring = ring,
		.request = request,
		.header = (struct wire_uring_header *)(void *)(ring->headers + (size_t)slot * HEADER_SIZE),
		.queue = queue,
	};
	entry->iov[0] = (struct iovec){ entry->header, sizeof(*entry->header) };
	entry->iov[1] = (struct iovec){ request->payload, request->payload_size };
}

static void channel_ring_lay_out(struct channel_ring *ring, const struct channel_setup *setup,
				 const struct channel_queues *queues)
{
	unsigned slot = 0;

	for (unsigned i = 0; i < queues->count; i++) {
		ring->queues[i].number = queues->numbers[i];
		for (unsigned end = slot + queues->depths[i]; slot < end; slot++)
			channel_ring_lay_out_slot(ring, slot, setup->payload_size, &ring->queues[i]);
	}
}

static int channel_ring_memory(struct channel_ring *ring, const struct channel_setup *setup,
			       const struct channel_queues *queues, struct error *err)
{
	void *map;
	int r = payloads_reserve(&ring->payloads, setup->slots, setup->payload_size, err);

	if (r < 0)
		return r;
	ring->headers_size = (size_t)setup->slots * HEADER_SIZE;
	map = mmap(NULL, ring->headers_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		   -1, 0);
	if (map == MAP_FAILED)
		return error_errno(err, "cannot reserve %zu bytes for requests", ring->headers_size);
	ring->headers = map;
	ring->assemble = malloc(ASSEMBLE_SIZE);
	ring->entries = calloc(setup->slots, sizeof(*ring->entries));
	ring->queues = calloc(queues->count, sizeof(*ring->queues));
	ring->channel.requests = calloc(setup->slots, sizeof(*ring->channel.requests));
	if (!ring->assemble || !ring->entries || !ring->queues || !ring->channel.requests)
		return error_no_memory(err);
	return 0;
}

int channel_ring_new(const struct channel_setup *setup, const struct channel_queues *queues, struct channel **ret,
		     struct error *err)
{
	static const struct channel_ops ops = {
		.receive = channel_ring_receive,
		.start = channel_ring_start,
		.reply = channel_ring_reply,
		.release = channel_ring_release,
		.expire = channel_ring_expire,
		.free = channel_ring_free,
		.own_thread = true,
	};
	struct channel_ring *ring = calloc(1, sizeof(*ring));
	int r;

	if (!ring)
		return error_no_memory(err);
	ring->channel = (struct channel){
		.ops = &ops,
		.handle = setup->handle,
		.context = setup->context,
		.slots = setup->slots,
		.poll_fd = -1,
		.commands = setup->slots,
	};
	r = channel_ring_memory(ring, setup, queues, err);
	if (r < 0) {
		channel_ring_free(&ring->channel);
		return r;
	}
	channel_ring_lay_out(ring, setup, queues);
	*ret = &ring->channel;
	return 0;
}
