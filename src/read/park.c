/* SPDX-License-Identifier: MIT */
/* Parks reads while the path to the device fails. */
#include "read/park.h"

#include <errno.h>

#include "base/clock.h"

bool park_is_path_error(int result)
{
	switch (result) {
	case -EIO:
	case -ENODEV:
	case -ENXIO:
	case -ENOLINK:
	case -EREMOTEIO:
	case -ETIMEDOUT:
	case -ESHUTDOWN:
	case -ESTALE:
	case -EOPNOTSUPP: /* NVMe: the controller has no such namespace any more */
		return true;
	default:
		return false;
	}
}

bool park_is_overdue(const struct read_op *op)
{
	return clock_now() - atomic_load_explicit(&op->wait.since, memory_order_relaxed) >=
	       (int64_t)op->reader->setup.options->deadline * 1000000000;
}

static void park_tell(struct read_op *op, int code, bool is_parked)
{
	const struct reader_events *events = op->reader->setup.events;

	if (events->path_failed)
		events->path_failed(op, code, is_parked);
}

bool park_may_wait(struct read_op *op, int result)
{
	struct reader *reader = op->reader;

	if (reader->ending || !park_is_path_error(result) || park_is_overdue(op))
		return false;
	if (!reader->setup.options->wait) {
		park_tell(op, result, false);
		return false;
	}
	op->wait.path_error = result;
	op->wait.to_park = true;
	return true;
}

void park_add(struct read_op *op)
{
	struct reader *reader = op->reader;

	park_tell(op, op->wait.path_error, true);
	op->wait.next = reader->parked;
	reader->parked = op;
	atomic_fetch_add_explicit(&reader->parked_count, 1, memory_order_relaxed);
}

struct read_op *park_take(struct reader *reader)
{
	struct read_op *first = reader->parked;

	reader->parked = NULL;
	atomic_store_explicit(&reader->parked_count, 0, memory_order_relaxed);
	return first;
}
