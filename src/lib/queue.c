/* SPDX-License-Identifier: MIT */
/* Queues: the way's own, or, where it has none, one that reads while it is asked. */
#include <errno.h>
#include <stdlib.h>

#include "lib/fifo.h"
#include "lib/handle.h"
#include "lib/reason.h"

#define QUEUE_DEPTH_MAX 1024u

struct dsfs_queue {
	struct opened *opened; /* with a use counted: ids of its version */
	struct pending *pending;
};

/* --- a way that has no queue --- */

struct queue_plain {
	struct pending pending; /* the first member */
	struct opened *opened;
	struct fifo todo, done;
};

static int queue_plain_submit(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err)
{
	struct queue_plain *plain = (struct queue_plain *)pending;
	int r = fifo_reserve(&plain->todo, count, err);

	if (r == 0)
		r = fifo_reserve(&plain->done, plain->todo.count + count, err);
	for (size_t i = 0; r == 0 && i < count; i++)
		fifo_add(&plain->todo, &reads[i]);
	return r;
}

/* At most as many as are asked for: a read through the mount cannot be given up. */
static int queue_plain_wait(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
			    struct error *err)
{
	struct queue_plain *plain = (struct queue_plain *)pending;
	size_t count = 0;

	(void)timeout;
	while (plain->done.count < least && plain->todo.count) {
		struct dsfs_read *read = fifo_take(&plain->todo);
		int r = plain->opened->way->read_many(plain->opened, read, 1, NULL, err);

		if (r < 0 && read->result >= 0)
			read->result = r;
		fifo_add(&plain->done, read);
	}
	while (count < most && plain->done.count)
		ret[count++] = fifo_take(&plain->done);
	return (int)count;
}

static void queue_plain_free(struct pending *pending)
{
	struct queue_plain *plain = (struct queue_plain *)pending;

	fifo_free(&plain->todo);
	fifo_free(&plain->done);
	free(plain);
}

static int queue_plain_new(struct opened *opened, struct pending **ret, struct error *err)
{
	static const struct pending_ops ops = { .submit = queue_plain_submit, .wait = queue_plain_wait,
						.free = queue_plain_free };
	struct queue_plain *plain = calloc(1, sizeof(*plain));

	if (!plain)
		return error_set(err, -ENOMEM, "no memory for a queue");
	plain->pending.ops = &ops;
	plain->opened = opened;
	*ret = &plain->pending;
	return 0;
}

/* --- the calls --- */

int dsfs_queue_new(struct dsfs *fs, unsigned depth, struct dsfs_queue **ret)
{
	struct error *err = reason_begin();
	struct dsfs_queue *queue;
	int r;

	if (depth > QUEUE_DEPTH_MAX)
		return error_set(err, -EINVAL, "a queue of depth %u, expected at most %u", depth, QUEUE_DEPTH_MAX);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return error_set(err, -ENOMEM, "no memory for a queue");
	queue->opened = handle_get(fs);
	if (queue->opened->way->pending_new)
		r = queue->opened->way->pending_new(queue->opened, depth, &queue->pending, err);
	else
		r = queue_plain_new(queue->opened, &queue->pending, err);
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
