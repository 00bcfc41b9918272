/* SPDX-License-Identifier: MIT */
/* A READ that waits for the device has read_op.wait.since set. Once the deadline has passed:
 *
 *   it is parked         its worker fails it (read_retry())
 *   it hangs, /dev/fuse  the watchdog answers it, because the worker may hang in the same read (serve_machine.blocks)
 *   it hangs, the ring   its worker answers it, because only the worker may use the ring
 *
 * A READ that waits at one member of several while others have its bytes does not wait for the deadline: its worker
 * leaves the read and begins it again (queue_leave_stuck()).
 *
 * On /dev/fuse the watchdog also answers a READ that has waited for more than a second when its process was killed.
 *
 * The slot and its memory stay taken until the device completes the read. In the worst case that holds all slots of a
 * worker, which then takes no more requests. */
#include "serve/request/waiting.h"

#include "base/clock.h"
#include "serve/request/caller.h"
#include "serve/request/content.h"
#include "serve/serve.h"

#define WAITING_GRACE (2 * WAITING_SECOND) /* time for a worker to fail its parked reads itself and log the reason */

/* The number of the request if its read has waited since before that time, otherwise 0. The time is loaded
 * twice, as the number could be that of the slot's next request. */
static uint64_t waiting_overdue(const struct channel_request *request, const struct read_op *op, int64_t before)
{
	int64_t since = atomic_load(&op->wait.since);
	uint64_t unique = atomic_load(&request->owed);

	return since && since < before && atomic_load(&op->wait.since) == since ? unique : 0;
}

static void waiting_expire_one(struct channel_request *request, const struct read_op *op, int64_t before,
			       struct counters *counters)
{
	if (!channel_expire(request, waiting_overdue(request, op, before)))
		return;
	counter_add(&counters->read.failures, 1);
	counter_stamp(&counters->read.failed_at);
	counter_add(&counters->errors, 1);
}

void waiting_expire(struct worker *worker, struct counters *counters)
{
	int64_t before = clock_now() - worker->serve->options.read.deadline * WAITING_SECOND;
	struct channel *channel = worker->channel;

	for (size_t i = 0; i < worker->slots; i++)
		waiting_expire_one(&channel->requests[i], &content_at(worker, i)->read.op, before - WAITING_GRACE,
				   counters);
	if (channel->ops->expire)
		channel->ops->expire(channel, before);
}

/* Makes up for an INTERRUPT that the kernel does not send for reads past the page cache: it waits for them in the
 * background, where no signal ends the wait. */
void waiting_release_killed(struct worker *worker, struct counters *counters)
{
	int64_t before = clock_now() - WAITING_STALL;
	struct channel *channel = worker->channel;
	struct channel_request *request;
	uint64_t unique;

	for (size_t i = 0; i < worker->slots; i++) {
		request = &channel->requests[i];
		unique = waiting_overdue(request, &content_at(worker, i)->read.op, before);
		if (unique && caller_is_killed(atomic_load(&request->pid)) && channel_interrupt(channel, unique))
			counter_add(&counters->interrupted, 1);
	}
}

/* Runs on the worker's thread. */
static void waiting_run(struct worker_task *task)
{
	struct content_errand *errand = (struct content_errand *)task; /* its first field */
	struct worker *worker = errand->worker;

	atomic_store(&errand->posted, false);
	if (atomic_exchange(&errand->renew, false))
		engine_renew(worker->engine);
	if (atomic_exchange(&errand->leave, false))
		queue_leave_stuck(worker->queue);
	if (!atomic_exchange(&errand->retry, false))
		return;
	read_retry(&worker->queue->reader);
	if (worker->channel->ops->own_thread)
		waiting_expire(worker, &worker->counters);
}

static void waiting_post(struct worker *worker, _Atomic bool *errand_is)
{
	struct content_errand *errand = &worker->contents->errand;

	atomic_store(errand_is, true);
	if (atomic_exchange(&errand->posted, true))
		return;
	errand->task.run = waiting_run;
	worker_post(worker, &errand->task);
}

void waiting_retry(struct worker *worker)
{
	waiting_post(worker, &worker->contents->errand.retry);
}

void waiting_leave(struct worker *worker)
{
	waiting_post(worker, &worker->contents->errand.leave);
}

void waiting_renew(struct worker *worker)
{
	waiting_post(worker, &worker->contents->errand.renew);
	waiting_retry(worker);
}

int64_t waiting_oldest(const struct worker *worker)
{
	int64_t oldest = 0, since;

	for (size_t i = 0; i < worker->slots; i++) {
		since = atomic_load_explicit(&content_at(worker, i)->read.op.wait.since, memory_order_relaxed);
		if (since && (!oldest || since < oldest))
			oldest = since;
	}
	return oldest;
}

bool waiting_has_parked(const struct worker *worker)
{
	return atomic_load(&worker->queue->reader.parked_count);
}

bool waiting_is_lost(struct worker *worker)
{
	return atomic_exchange(&worker->contents->path_failed, false) || waiting_has_parked(worker);
}
