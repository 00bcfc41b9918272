/* SPDX-License-Identifier: MIT */
/* Shared by all channels: answers each request exactly once. */
#include "fuse/channel.h"

#include <errno.h>

void channel_free(struct channel *channel)
{
	if (channel)
		channel->ops->free(channel);
}

/* Takes the right to answer. Request numbers are never reused, so a late taker cannot hit the slot's next request. */
static bool channel_take(struct channel_request *request, uint64_t unique)
{
	return unique && atomic_compare_exchange_strong(&request->owed, &unique, 0);
}

bool channel_answer(struct channel_request *request, int error, const void *data, size_t length)
{
	struct channel *channel = request->channel;
	uint64_t unique = request->wire.unique;

	if (!channel_take(request, unique))
		return false;
	return channel->ops->reply(channel, unique, error, data, length, request) == 0;
}

uint32_t channel_waiter(struct channel *channel, uint64_t unique)
{
	if (channel->ops->own_thread)
		return 0;
	for (unsigned i = 0; i < channel->slots; i++)
		if (atomic_load(&channel->requests[i].owed) == unique)
			return atomic_load_explicit(&channel->requests[i].pid, memory_order_relaxed);
	return 0;
}

bool channel_interrupt(struct channel *channel, uint64_t unique)
{
	if (channel->ops->own_thread)
		return false;
	for (unsigned i = 0; i < channel->slots; i++)
		if (channel_take(&channel->requests[i], unique) &&
		    channel->ops->reply(channel, unique, -EINTR, NULL, 0, &channel->requests[i]) == 0)
			return true; /* a request that was sent again may be in two slots, and only the last counts */
	return false;
}

bool channel_expire(struct channel_request *request, uint64_t unique)
{
	return channel_take(request, unique) &&
	       request->channel->ops->reply(request->channel, unique, -EIO, NULL, 0, request) == 0;
}

void channel_release(struct channel_request *request)
{
	request->channel->ops->release(request->channel, request);
}
