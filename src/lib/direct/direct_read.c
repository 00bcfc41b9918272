/* SPDX-License-Identifier: MIT */
/* Runs batches for one call, or for a queue. */
#include "lib/direct/direct_read.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lib/direct/batch.h"
#include "lib/forked.h"

/* Whether to read without a ring. One small read gains nothing from it: the system call is the same, and a thread that
 * makes no others need not have one. But only a ring's read can be left where another member has the bytes. */
static bool direct_read_is_at_once(const struct context *context, const struct dsfs_read *reads, size_t count)
{
	return count == 1 && reads->size <= READ_MAX && !context->may_leave;
}

int direct_read_many(struct opened *opened, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena,
		     struct error *err)
{
	struct fifo todo = fifo_of(reads, count);
	struct batch batch = { .arena = arena, .todo = &todo, .err = err };
	int r = context_enter((struct direct *)opened, &batch.context, err);

	if (r < 0)
		return r;
	r = batch_begin(&batch, !direct_read_is_at_once(batch.context, reads, count), 0, err);
	if (r == 0)
		batch_start(&batch);
	while (r == 0 && !batch_is_over(&batch))
		batch_wait(&batch, BATCH_FOR_EVER);
	batch_end(&batch);
	context_leave(batch.context);
	return r < 0 || !batch.failed ? r : err->code;
}

/* --- a queue --- */

#define DIRECT_READ_GATHER 8u /* single reads of a deep queue that are submitted together */

struct direct_read_queue {
	struct pending pending; /* must be first */
	struct batch batch;
	struct fifo todo, done;
	size_t open; /* reads that were submitted and not returned yet */
	uint64_t generation; /* of the process that made the queue */
};

/* Refuses a queue in a forked child, which shares the ring's memory and has none of the threads that read. */
static int direct_read_check(const struct direct_read_queue *queue, struct error *err)
{
	if (queue->generation == forked_generation())
		return 0;
	return error_set(err, -EBADF, "the queue is of the process that forked: a child makes one of its own");
}

static int direct_read_submit(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;
	int r = direct_read_check(queue, err);

	if (r == 0)
		r = fifo_reserve(&queue->todo, count, err);
	if (r == 0)
		r = fifo_reserve(&queue->done, queue->open - queue->done.count + count, err);
	if (r < 0)
		return r;
	permission_end(&queue->batch.permission);
	queue->batch.err = err;
	for (size_t i = 0; i < count; i++)
		fifo_add(&queue->todo, &reads[i]);
	queue->open += count;
	batch_submit(&queue->batch, count > 1);
	return 0;
}

static int direct_read_wait(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
			    struct error *err)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;
	struct batch *batch = &queue->batch;
	int64_t limit = timeout < 0 ? BATCH_FOR_EVER : timeout * INT64_C(1000000), start = clock_now();
	int r = direct_read_check(queue, err);
	const bool is_poll = least == 0 || limit == 0;
	size_t count = 0;

	if (r < 0)
		return r;
	permission_end(&batch->permission);
	batch->err = err;
	batch_submit(batch, false);
	if (is_poll || queue->done.count < least)
		batch_start(batch); /* nothing waits for others any more */
	if (is_poll)
		batch_wait(batch, 0);
	while (queue->done.count < least && limit > 0 && !batch_is_over(batch)) {
		batch_wait(batch, limit);
		if (timeout >= 0)
			limit = start + timeout * INT64_C(1000000) - clock_now();
	}
	batch_push(batch);
	while (count < most && queue->done.count)
		ret[count++] = fifo_take(&queue->done);
	queue->open -= count;
	return (int)count;
}

static void direct_read_free(struct pending *pending)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;

	if (direct_read_check(queue, NULL) < 0)
		return;
	queue->batch.err = NULL; /* no caller wants the reason any more */
	if (queue->batch.context)
		while (!batch_is_over(&queue->batch))
			batch_wait(&queue->batch, BATCH_FOR_EVER);
	batch_end(&queue->batch);
	context_free(queue->batch.context);
	fifo_free(&queue->todo);
	fifo_free(&queue->done);
	free(queue);
}

static const struct pending_ops direct_read_ops = {
	.submit = direct_read_submit,
	.wait = direct_read_wait,
	.free = direct_read_free,
};

int direct_read_pending(struct opened *opened, unsigned depth, struct pending **ret, struct error *err)
{
	struct direct_read_queue *queue = calloc(1, sizeof(*queue));
	int r;

	if (!queue)
		return error_no_memory(err);
	queue->generation = forked_generation();
	queue->pending.ops = &direct_read_ops;
	queue->batch.gather = depth && depth < 4 * DIRECT_READ_GATHER ? depth / 4 : DIRECT_READ_GATHER;
	queue->batch.todo = &queue->todo;
	queue->batch.done = &queue->done;
	r = context_new((struct direct *)opened, &queue->batch.context, err);
	if (r == 0)
		r = batch_begin(&queue->batch, true, depth ? depth : CONTEXT_DEPTH, err);
	if (r < 0) {
		direct_read_free(&queue->pending);
		return r;
	}
	*ret = &queue->pending;
	return 0;
}
