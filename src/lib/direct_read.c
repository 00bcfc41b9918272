/* SPDX-License-Identifier: MIT */
/* Reads of the way past the mount: many at once, or by a queue. */
#include "lib/direct_read.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/batch.h"

/* One small read gains nothing from a ring: the system call is the same, and a thread that makes no others need not
 * have one. */
static bool direct_read_is_one(const struct dsfs_read *reads, size_t count)
{
	return count == 1 && reads->size <= READ_MAX;
}

int direct_read_many(struct opened *opened, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena,
		     struct error *err)
{
	struct batch batch = { .arena = arena, .reads = reads, .count = count, .err = err };
	int r = lane_enter((struct direct *)opened, &batch.lane, err);

	if (r < 0)
		return r;
	r = batch_begin(&batch, !direct_read_is_one(reads, count), NULL, err);
	if (r == 0)
		batch_start(&batch);
	while (r == 0 && !batch_is_over(&batch))
		batch_wait(&batch, true);
	batch_end(&batch);
	lane_leave(batch.lane);
	return r < 0 || !batch.failed ? r : err->code;
}

/* --- a queue --- */

struct direct_read_queue {
	struct pending pending; /* the first member */
	struct batch batch;
	struct fifo todo, done;
	int timer;
	bool expired;
};

static void direct_read_expired(void *argument)
{
	struct direct_read_queue *queue = argument;
	uint64_t times;

	queue->expired = read(queue->timer, &times, sizeof(times)) == sizeof(times) || queue->expired;
}

static int direct_read_submit(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;
	struct batch *batch = &queue->batch;
	int r = fifo_reserve(&queue->todo, count, err);

	/* For what is under way as well. */
	if (r == 0)
		r = fifo_reserve(&queue->done, queue->todo.count + batch->busy + 1 + count, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		fifo_add(&queue->todo, &reads[i]);
	batch->err = err;
	batch_start(batch);
	batch_wait(batch, false); /* what was started reaches the device */
	return 0;
}

static int direct_read_set_timer(struct direct_read_queue *queue, int timeout, struct error *err)
{
	const struct itimerspec when = { .it_value = { .tv_sec = timeout / 1000,
						       .tv_nsec = timeout % 1000 * 1000000L } };

	queue->expired = timeout == 0;
	if (timeout > 0 && timerfd_settime(queue->timer, 0, &when, NULL) < 0)
		return error_errno(err, "timerfd_settime");
	return 0;
}

static int direct_read_wait(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
			    struct error *err)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;
	int r = direct_read_set_timer(queue, timeout, err);
	size_t count = 0;

	if (r < 0)
		return r;
	queue->batch.err = err;
	if (queue->done.count < least)
		batch_wait(&queue->batch, false);
	while (queue->done.count < least && !queue->expired && !batch_is_over(&queue->batch))
		batch_wait(&queue->batch, true);
	if (timeout > 0)
		(void)timerfd_settime(queue->timer, 0, &(struct itimerspec){ 0 }, NULL);
	while (count < most && queue->done.count)
		ret[count++] = fifo_take(&queue->done);
	return (int)count;
}

static void direct_read_free(struct pending *pending)
{
	struct direct_read_queue *queue = (struct direct_read_queue *)pending;
	struct error ignored = { 0 };

	queue->batch.err = &ignored;
	if (queue->batch.lane)
		while (!batch_is_over(&queue->batch))
			batch_wait(&queue->batch, true);
	batch_end(&queue->batch);
	lane_free(queue->batch.lane);
	fifo_free(&queue->todo);
	fifo_free(&queue->done);
	if (queue->timer >= 0)
		close(queue->timer);
	free(queue);
}

static const struct pending_ops direct_read_ops = {
	.submit = direct_read_submit,
	.wait = direct_read_wait,
	.free = direct_read_free,
};

static int direct_read_open(struct direct_read_queue *queue, struct direct *direct, unsigned depth, struct error *err)
{
	const struct lane_queue setup = { .depth = depth ? depth : LANE_DEPTH,
					  .timer = queue->timer,
					  .expired = direct_read_expired,
					  .argument = queue };
	int r = queue->timer < 0 ? error_errno(err, "timerfd_create") : 0;

	if (r == 0)
		r = lane_new(direct, &queue->batch.lane, err);
	return r < 0 ? r : batch_begin(&queue->batch, true, &setup, err);
}

int direct_read_pending(struct opened *opened, unsigned depth, struct pending **ret, struct error *err)
{
	struct direct_read_queue *queue = calloc(1, sizeof(*queue));
	int r;

	if (!queue)
		return error_set(err, -ENOMEM, "no memory for a queue");
	queue->pending.ops = &direct_read_ops;
	queue->batch.todo = &queue->todo;
	queue->batch.done = &queue->done;
	queue->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	r = direct_read_open(queue, (struct direct *)opened, depth, err);
	if (r < 0) {
		direct_read_free(&queue->pending);
		return r;
	}
	*ret = &queue->pending;
	return 0;
}
