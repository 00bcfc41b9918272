/* SPDX-License-Identifier: MIT */
/* The channel over /dev/fuse: a cloned, non-blocking descriptor, read(2) and writev(2). All clones take requests from
 * one queue; a reply goes to the clone that its request came from. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "fuse/channel.h"
#include "fuse/payloads.h"

/* Room for one request: names, and as many forgets as the kernel batches. At least FUSE_MIN_READ_BUFFER. */
#define RECEIVE_SIZE 65536u

/* Requests that one call of receive() takes. Other workers can take the rest, and this one looks at its device reads
 * before it does. */
#define RECEIVE_MOST 4u

struct channel_dev {
	struct channel channel;
	int fd;
	struct channel_request *free;
	struct payloads payloads;
	uint8_t *receive;
};

static struct channel_request *channel_dev_take(struct channel_dev *dev)
{
	struct channel_request *request = list_pop(dev->free, next_free);

	request->taken = true;
	dev->channel.busy++;
	return request;
}

static void channel_dev_release(struct channel *channel, struct channel_request *request)
{
	struct channel_dev *dev = (struct channel_dev *)channel;

	assert(request->taken && atomic_load(&request->owed) == 0);
	request->taken = false;
	list_push(dev->free, request, next_free);
	channel->busy--;
}

static int channel_dev_reply(struct channel *channel, uint64_t unique, int error, const void *data,
			     size_t length, struct channel_request *request)
{
	struct channel_dev *dev = (struct channel_dev *)channel;
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + length),
		.error = error,
		.unique = unique,
	};
	struct iovec iov[2] = { { &header, sizeof(header) }, { (void *)(uintptr_t)data, length } };

	(void)request;
	if (writev(dev->fd, iov, length ? 2 : 1) >= 0)
		return 0;
	/* ENOENT: the request was aborted. ENODEV: unmounted. In both cases no process waits for the answer. */
	if (errno != ENOENT && errno != ENODEV)
		log_err("cannot answer request %llu: %s", (unsigned long long)unique, strerror(errno));
	return -errno;
}

/* Answers a malformed request. The kernel never sends one, but if one comes its process must not wait for ever. */
static void channel_dev_refuse(struct channel_dev *dev, const uint8_t *bytes, size_t length,
			       const struct error *why)
{
	static struct log_limit limit = { .burst = 10 };
	struct fuse_in_header header;
	unsigned suppressed;

	if (log_allow(&limit, &suppressed))
		log_err("malformed FUSE request: %s, suppressed=%u", why->reason, suppressed);
	if (length < sizeof(header))
		return;
	memcpy(&header, bytes, sizeof(header));
	channel_dev_reply(&dev->channel, header.unique, -EINVAL, NULL, 0, NULL);
}

/* Puts the request that was read into a slot. NULL: it is malformed, and answered. */
static struct channel_request *channel_dev_parse(struct channel_dev *dev, size_t length)
{
	struct channel_request *request;
	struct error err;
	struct request wire;

	error_clear(&err);
	if (wire_parse(dev->receive, length, &wire, &err) < 0) {
		channel_dev_refuse(dev, dev->receive, length, &err);
		return NULL;
	}
	request = channel_dev_take(dev);
	request->wire = wire;
	request->arrived = clock_now();
	atomic_store_explicit(&request->pid, wire.pid, memory_order_relaxed);
	atomic_store(&request->owed, wire_wants_reply(wire.opcode) ? wire.unique : 0);
	return request;
}

static int channel_dev_receive(struct channel *channel, bool *ret_drained, struct error *err)
{
	struct channel_dev *dev = (struct channel_dev *)channel;
	struct channel_request *request;
	unsigned taken = 0;
	ssize_t n;

	channel->has_more = false;
	while (dev->free && !channel->has_more) {
		n = read(dev->fd, dev->receive, RECEIVE_SIZE);
		if (n >= 0) {
			request = channel_dev_parse(dev, (size_t)n);
			if (request)
				channel->handle(channel->context, request);
			channel->has_more = ++taken == RECEIVE_MOST;
		} else if (errno == EAGAIN) {
			*ret_drained = true;
			return 0;
		} else if (errno == ENODEV) {
			return error_set(err, -ENODEV, "unmounted");
		} else if (errno == ECONNABORTED) {
			return error_set(err, -ECONNABORTED, "the FUSE connection was aborted");
		} else if (errno != EINTR && errno != ENOENT) { /* ENOENT: aborted while it was read */
			return error_errno(err, "cannot read a FUSE request");
		}
	}
	*ret_drained = false;
	return 0;
}

static void channel_dev_free(struct channel *channel)
{
	struct channel_dev *dev = (struct channel_dev *)channel;

	payloads_free(&dev->payloads);
	close_fd(&dev->fd);
	free(dev->receive);
	free(channel->requests);
	free(dev);
}

/* Uses the descriptor of the mount itself, in a container that has no device: answers lock each other out. */
static int channel_dev_share(int session_fd, int *ret, struct error *err)
{
	int flags = fcntl(session_fd, F_GETFL);

	*ret = fcntl(session_fd, F_DUPFD_CLOEXEC, 0);
	if (flags < 0 || *ret < 0 || fcntl(session_fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return error_errno(err, "cannot share the descriptor of the mount");
	return 0;
}

static int channel_dev_clone(int session_fd, int *ret, struct error *err)
{
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	uint32_t source = (uint32_t)session_fd;

	if (fd < 0 && (errno == ENOENT || errno == EACCES || errno == EPERM))
		return channel_dev_share(session_fd, ret, err);
	if (fd < 0)
		return error_errno(err, "cannot open '/dev/fuse'");
	if (ioctl(fd, FUSE_DEV_IOC_CLONE, &source) < 0)
		return error_errno(err, "cannot clone the descriptor of the mount");
	*ret = take_fd(&fd);
	return 0;
}

static int channel_dev_memory(struct channel_dev *dev, const struct channel_setup *setup, struct error *err)
{
	struct channel *channel = &dev->channel;
	int r = payloads_reserve(&dev->payloads, setup->slots, setup->payload_size, err);

	if (r < 0)
		return r;
	dev->receive = malloc(RECEIVE_SIZE);
	channel->requests = calloc(setup->slots, sizeof(*channel->requests));
	if (!dev->receive || !channel->requests)
		return error_no_memory(err);
	channel->slots = setup->slots;
	for (unsigned i = setup->slots; i-- > 0;) {
		struct channel_request *request = &channel->requests[i];

		request->channel = channel;
		request->slot = i;
		request->payload = payloads_at(&dev->payloads, i);
		request->payload_size = setup->payload_size;
		list_push(dev->free, request, next_free);
	}
	return 0;
}

int channel_dev_new(const struct channel_setup *setup, struct channel **ret, struct error *err)
{
	static const struct channel_ops ops = {
		.receive = channel_dev_receive,
		.reply = channel_dev_reply,
		.release = channel_dev_release,
		.free = channel_dev_free,
	};
	struct channel_dev *dev = calloc(1, sizeof(*dev));
	int r, clone = setup->clone;

	if (!dev) {
		close_fd(&clone);
		return error_no_memory(err);
	}
	dev->fd = clone;
	dev->channel = (struct channel){ .ops = &ops, .handle = setup->handle, .context = setup->context };
	r = channel_dev_memory(dev, setup, err);
	if (r == 0 && dev->fd < 0)
		r = channel_dev_clone(setup->session_fd, &dev->fd, err);
	if (r < 0) {
		channel_dev_free(&dev->channel);
		return r;
	}
	dev->channel.poll_fd = dev->fd;
	*ret = &dev->channel;
	return 0;
}
