/* SPDX-License-Identifier: MIT */
/* Looks at the slots of all workers when woken, and reads with threads of its own (io/pool.c). A slot stays with its
 * worker, which finds in the end that its READ was answered. */
#include "serve/request/standby.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program/step.h"
#include "base/thread/thread.h"
#include "read/queue.h"
#include "serve/keeping/crash.h"
#include "serve/request/content.h"
#include "serve/request/waiting.h"
#include "serve/worker/worker.h"

#define STANDBY_READS 8u
#define STANDBY_WAIT  INT64_C(10000000) /* ns that it waits for its reads before it looks for more READs */

struct standby_slot {
	struct queue_slot read; /* must be the first field */
	struct standby *standby;
	struct channel_request *request;
	uint64_t unique; /* number of the READ that it reads for; 0: none */
	uint64_t node;
	struct generation *generation;
};

struct standby {
	struct counters counters;
	struct generations_section section;
	struct serve *serve;
	struct reader_options options;
	struct queue queue;
	struct wake wake;
	_Atomic bool look, ending;
	struct thread thread;
};

static void standby_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	(void)op;
	(void)chunk;
	log_debug("what a worker waits for cannot be read elsewhere: %s", err->reason);
}

static void standby_fell_back(struct read_op *op, const struct error *err)
{
	standby_failed(op, NULL, err);
}

static unsigned standby_hand(const struct standby *standby)
{
	return standby->serve->worker_count + RECORD_STANDBY;
}

static void standby_works(struct read_op *op)
{
	const struct standby_slot *slot = (struct standby_slot *)op;
	const struct record_request request = { .unique = slot->unique, .nodeid = slot->node, .opcode = FUSE_READ,
						.offset = op->request.offset, .size = (uint32_t)op->request.size };

	record_take(slot->standby->serve->record, standby_hand(slot->standby), &request);
	step_of("READ-resumed", slot->node);
}

static void standby_rests(struct reader *reader)
{
	const struct standby *standby = (struct standby *)((char *)reader - offsetof(struct standby, queue.reader));

	record_leave(standby->serve->record, standby_hand(standby));
}

static void standby_done(struct queue_slot *read, int64_t result)
{
	struct standby_slot *slot = (struct standby_slot *)read;
	struct standby *standby = slot->standby;

	if (result >= 0 && channel_answer_for(slot->request, slot->unique, queue_payload(read), (size_t)result)) {
		counter_add(&standby->counters.bytes_served, (uint64_t)result);
		counter_add(&standby->counters.files_served, read->op.request.offset == 0);
	}
	generation_put(slot->generation);
	slot->unique = 0;
	queue_give(read);
}

static bool standby_reads_for(const struct standby *standby, uint64_t unique)
{
	for (uint32_t i = 0; i < STANDBY_READS; i++)
		if (((const struct standby_slot *)queue_at(&standby->queue, i))->unique == unique)
			return true;
	return false;
}

/* Finds the node's version and inode, and takes a use of the version. False: it is no file of an open version. */
static bool standby_find(struct standby *standby, uint64_t node, struct generation **ret, struct inode *ret_inode)
{
	struct generation *generation;
	bool found;

	generations_enter(&standby->section);
	generation = generations_by_node(&standby->serve->generations, node);
	found = generation && inode_get(generation->index, nodeid_ordinal(node), ret_inode, NULL) == 0 &&
		S_ISREG(ret_inode->mode);
	if (found)
		generation_get(generation);
	*ret = generation;
	generations_leave(&standby->section);
	return found;
}

/* Begins to read for the worker's READ in this slot, if it has waited since before that time. Its node and range are
 * loaded between two checks that the same READ is owed, so that they belong to it. */
static void standby_try(struct standby *standby, struct worker *worker, size_t number, int64_t before)
{
	struct channel_request *request = &worker->channel->requests[number];
	const struct content *content = content_at(worker, number);
	uint64_t unique = waiting_number(worker, number, before);
	uint64_t node = atomic_load(&worker->reading[number]), offset = atomic_load(&content->offset);
	uint32_t size = atomic_load(&content->size);
	struct generation *generation;
	struct standby_slot *slot;
	struct inode inode;

	if (!unique || standby_reads_for(standby, unique) || atomic_load(&request->owed) != unique ||
	    !standby_find(standby, node, &generation, &inode))
		return;
	slot = (struct standby_slot *)queue_take(&standby->queue);
	slot->standby = standby;
	slot->request = request;
	slot->unique = unique;
	slot->node = node;
	slot->generation = generation;
	slot->read.op.request = (struct read_request){ .version = generation_read(generation),
						       .inode = inode,
						       .offset = offset,
						       .size = size,
						       .payload = queue_payload(&slot->read),
						       .room = READ_MAX,
						       .is_ahead = true };
	queue_read(&slot->read);
}

static void standby_look_at_all(struct standby *standby)
{
	const struct serve *serve = standby->serve;
	int64_t before = clock_now() - ROUTE_SILENCE;

	for (unsigned i = 0; i < serve->worker_count; i++)
		for (size_t k = 0; k < serve->workers[i]->slots && queue_has_room(&standby->queue); k++)
			standby_try(standby, serve->workers[i], k, before);
}

static void standby_main(void *argument)
{
	struct standby *standby = argument;
	const struct queue *queue = &standby->queue;
	struct error err = { 0 };

	crash_name(standby_hand(standby));
	while (!atomic_load(&standby->ending) || queue->reading) {
		if (!queue->reading)
			wake_wait(&standby->wake, -1);
		if (atomic_exchange(&standby->look, false))
			standby_look_at_all(standby);
		if (queue->reading && queue_wait(&standby->queue, STANDBY_WAIT, &err) < 0)
			log_error(&err, "cannot wait for what workers wait for");
	}
}

void standby_look(struct standby *standby)
{
	if (!standby)
		return;
	atomic_store(&standby->look, true);
	wake_up(&standby->wake);
}

/* ---- start and end ---- */

static void standby_free(struct standby *standby)
{
	queue_close(&standby->queue);
	wake_close(&standby->wake);
	free(standby);
}

static int standby_open(struct standby *standby, struct error *err)
{
	static const struct reader_events events = { .failed = standby_failed, .fell_back = standby_fell_back,
						     .works = standby_works, .rests = standby_rests };
	static const struct queue_client client = { .slot_size = sizeof(struct standby_slot), .events = &events,
						    .done = standby_done };
	const struct serve *serve = standby->serve;
	const struct queue_setup setup = { .client = &client,
					   .reader = { .options = &standby->options,
						       .geometry = serve->volume.array->geometry,
						       .cache = serve->cache, .pages = serve->pages,
						       .route = serve->volume.route,
						       .window = serve->volume.window,
						       .cached = serve->cached,
						       .counters = &standby->counters.read },
					   .depth = STANDBY_READS, .has_payloads = true, .is_huge = true };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1, .volume_fds = serve->volume.array->fds,
					     .member_count = serve->volume.array->fd_count, .depth = STANDBY_READS };
	int r = queue_open(&standby->queue, &setup, err);

	return r < 0 ? r : queue_start(&standby->queue, &engine, pool_new, NULL, err);
}

static int standby_run(struct standby *standby, struct error *err)
{
	const struct thread_setup setup = { .run = standby_main, .argument = standby };

	generations_register(&standby->serve->generations, &standby->section);
	return thread_start(&standby->thread, &setup, err);
}

int standby_start(struct serve *serve, struct error *err)
{
	struct standby *standby;
	int r;

	if (!serve_has_places(serve) || serve->machine.uring)
		return 0;
	standby = aligned_alloc(_Alignof(struct standby), sizeof(*standby));
	if (!standby)
		return error_no_memory(err);
	memset(standby, 0, sizeof(*standby));
	standby->serve = serve;
	standby->options = (struct reader_options){ .verify = serve->options.read.verify };
	serve->standby = standby;
	r = wake_open(&standby->wake, err);
	if (r == 0)
		r = standby_open(standby, err);
	return r < 0 ? r : standby_run(standby, err);
}

bool standby_stop(struct standby *standby)
{
	if (!standby)
		return true;
	atomic_store(&standby->ending, true);
	wake_up(&standby->wake);
	if (!thread_join_soon(&standby->thread))
		return false;
	standby_free(standby);
	return true;
}

const struct counters *standby_counters(const struct standby *standby)
{
	return standby ? &standby->counters : NULL;
}
