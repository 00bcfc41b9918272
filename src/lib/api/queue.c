/* SPDX-License-Identifier: MIT */
/* Implements the public queue: the pending reads of a backend, and a use of the version that their ids are of. */
#include <errno.h>
#include <stdlib.h>

#include "lib/api/handle.h"
#include "lib/reason.h"

#define QUEUE_DEPTH_MAX 1024u

struct dsfs_queue {
	struct opened *opened; /* the version of the ids, with a use counted */
	struct pending *pending;
};

int dsfs_queue_new(struct dsfs *fs, unsigned depth, struct dsfs_queue **ret)
{
	struct error *err = reason_begin();
	struct dsfs_queue *queue;
	int r;

	if (depth > QUEUE_DEPTH_MAX)
		return error_set(err, -EINVAL, "a queue of depth %u, expected at most %u", depth, QUEUE_DEPTH_MAX);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return error_no_memory(err);
	queue->opened = handle_get(fs);
	r = queue->opened->backend->pending_new(queue->opened, depth, &queue->pending, err);
	if (r < 0) {
		handle_put(queue->opened);
		free(queue);
		return r;
	}
	*ret = queue;
	return 0;
}

int dsfs_queue_submit(struct dsfs_queue *queue, struct dsfs_read *reads, size_t count)
{
	struct error *err = reason_begin();

	for (size_t i = 0; i < count; i++)
		if (!reads[i].buffer && reads[i].size)
			return error_set(err, -EINVAL, "read %zu of %zu has no buffer", i, count);
	return queue->pending->ops->submit(queue->pending, reads, count, err);
}

int dsfs_queue_wait(struct dsfs_queue *queue, size_t least, struct dsfs_read **ret, size_t most, int timeout)
{
	struct error *err = reason_begin();

	if (most > INT32_MAX)
		most = INT32_MAX;
	if (least > most)
		least = most;
	return queue->pending->ops->wait(queue->pending, least, ret, most, timeout, err);
}

void dsfs_queue_free(struct dsfs_queue *queue)
{
	if (!queue)
		return;
	queue->pending->ops->free(queue->pending);
	handle_put(queue->opened);
	free(queue);
}
