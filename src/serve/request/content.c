/* SPDX-License-Identifier: MIT */
/* Passes a READ to a reader, and turns the result into the reply, the log line and the counters. */
#include "serve/request/content.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/program/step.h"
#include "base/program/subordinate.h"
#include "fuse/init.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "serve/damage.h"
#include "serve/readahead/ahead.h"
#include "serve/readahead/announced.h"
#include "serve/request/node.h"
#include "serve/request/reply.h"
#include "serve/serve.h"
#include "serve/successor/crash.h"

static_assert(INIT_READ_MAX <= READ_MAX, "a READ is one read");

static struct content *content_of(struct read_op *op)
{
	return (struct content *)op;
}

static void content_path(const struct content *content, char *path, size_t size)
{
	inode_path(content->generation->opened.index, content->read.op.request.inode.ordinal, path, size);
}

static uint64_t content_node(const struct content *content)
{
	return generation_node(content->generation, content->read.op.request.inode.ordinal);
}

static void content_report(const struct content *content, const struct chunk *chunk, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	char path[1024], where[160] = "";
	unsigned suppressed;

	if (!log_allow(&limit, &suppressed))
		return;
	content_path(content, path, sizeof(path));
	if (chunk)
		snprintf(where, sizeof(where), " chunk=%" PRIu64 " member=%u offset=%" PRIu64, chunk->number,
			 address_member(chunk->address), address_offset(chunk->address));
	log_err("read of '%s' failed: %s, ino=%" PRIu64 "%s suppressed=%u", path, err->reason,
		content_node(content), where, suppressed);
}

static void content_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	struct content *content = content_of(op);
	uint64_t copies[DSFS_COPIES_MAX]; /* of several, content_copy_wrong() noted each; a single one is noted here */

	content_report(content, chunk, err);
	if (chunk && error_is_damage(err->code) && !chunk_is_inline(chunk)) {
		members_copies(&content->generation->opened.index->members, chunk->address, copies);
		serve_note_damage(content->worker->serve,
				  &(struct reader_place){ .member = address_member(copies[0]),
							  .offset = address_offset(copies[0]),
							  .length = chunk->stored, .chunk = chunk },
				  content->generation, err);
	}
	generations_mark_stale(&content->worker->serve->generations, content->generation);
}

static void content_fell_back(struct read_op *op, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	const struct content *content = content_of(op);
	char path[1024];
	unsigned suppressed;

	if (!log_allow(&limit, &suppressed))
		return;
	content_path(content, path, sizeof(path));
	log_warn("cannot use the block checksums of '%s': %s, reading whole chunks ino=%" PRIu64 " suppressed=%u", path,
		 err->reason, content_node(content), suppressed);
}

static void content_path_failed(struct read_op *op, int code, bool is_parked)
{
	struct worker *worker = content_of(op)->worker;

	if (is_parked)
		atomic_store_explicit(&worker->serve->volume.path_error, code, memory_order_relaxed);
	else
		atomic_store_explicit(&worker->contents->path_failed, true, memory_order_relaxed);
}

static void content_copy_failed(struct read_op *op, uint32_t member, int code)
{
	(void)member;
	(void)code;
	atomic_store_explicit(&content_of(op)->worker->contents->path_failed, true, memory_order_relaxed);
}

static void content_copy_wrong(struct read_op *op, const struct reader_place *place, const struct error *err)
{
	static struct log_limit limit = { .burst = 10 };
	const struct content *content = content_of(op);
	char path[1024];
	unsigned suppressed;

	serve_note_damage(content->worker->serve, place, content->generation, err);
	if (!log_allow(&limit, &suppressed))
		return;
	content_path(content, path, sizeof(path));
	log_warn("cannot use a copy of '%s': %s, reading another ino=%" PRIu64 " member=%" PRIu32 " suppressed=%u",
		 path, err->reason, content_node(content), place->member, suppressed);
}

/* Notes that the worker goes on with a READ, as content_rests() notes the end of that: hostile bytes may crash it. */
static void content_works(struct read_op *op)
{
	const struct content *content = content_of(op);
	struct worker *worker = content->worker;

	crash_resume(worker->serve->recovery, worker->number, content->request);
	step_of("READ-resumed", content->request->wire.nodeid);
}

static void content_rests(struct reader *reader)
{
	const struct contents *contents = (struct contents *)((char *)reader - offsetof(struct contents, queue.reader));
	const struct worker *worker = contents->errand.worker;

	recovery_leave(worker->serve->recovery, worker->number);
}

static const struct reader_events content_events = {
	.failed = content_failed,
	.fell_back = content_fell_back,
	.path_failed = content_path_failed,
	.copy_failed = content_copy_failed,
	.copy_wrong = content_copy_wrong,
	.works = content_works,
	.rests = content_rests,
};

/* Clears the parts of the READ that other threads see. Call it before the reply: after that the slot may have another
 * request. */
static void content_end(struct content *content)
{
	atomic_store_explicit(&content->read.op.wait.since, 0, memory_order_relaxed);
	atomic_store_explicit(&content->worker->reading[content->request->slot], 0, memory_order_relaxed);
}

/* Counts a READ that is about to be answered with this many bytes. */
static void content_tally(struct worker *worker, const struct channel_request *request, uint64_t bytes)
{
	struct counters *counters = &worker->counters;

	counter_add(&counters->bytes_served, bytes);
	counter_add(&counters->files_served, request->wire.in.read.offset == 0);
	counter_span(&counters->read_latency, clock_now() - request->arrived);
}

/* Gives up the generation before the reply, after which the slot may have another request. */
static void content_done(struct queue_slot *read, int64_t result)
{
	struct content *content = (struct content *)read;
	struct channel_request *request = content->request;
	struct worker *worker = content->worker;

	generation_put(content->generation);
	content_end(content);
	if (result == -ECANCELED) { /* another thread answered */
		reply_end(worker, request);
	} else if (result < 0) {
		reply_error(worker, request, -EIO);
	} else {
		content_tally(worker, request, (uint64_t)result);
		reply_data(worker, request, request->payload, (size_t)result);
	}
}

static int content_find(struct content *content, struct worker *worker, struct channel_request *request)
{
	struct inode *inode = &content->read.op.request.inode;
	struct error err;
	int r;

	error_clear(&err);
	r = node_find(worker, request->wire.nodeid, &content->generation, inode, &err);
	if (r == 0 && !S_ISREG(inode->mode))
		r = S_ISDIR(inode->mode) ? -EISDIR : -EINVAL;
	return r;
}

/* Describes the read that answers the request. */
static void content_fill(struct content *content)
{
	struct channel_request *request = content->request;
	struct worker *worker = content->worker;
	const struct fuse_read_in *in = &request->wire.in.read;
	struct read_request *read = &content->read.op.request;

	read->version = generation_read(content->generation);
	read->offset = in->offset;
	read->size = in->size < request->payload_size ? in->size : request->payload_size;
	read->payload = request->payload;
	read->room = request->payload_size;
	read->keeps_payload = worker->channel->ops->own_thread && serve_has_places(worker->serve);
	read->wanted = &request->owed;
	read->user = subordinate_share(worker->serve->subordinate, request->wire.uid);
}

/* ---- READs of files that were read ahead ---- */

static void content_give(struct content *content, const struct kept_piece *piece)
{
	struct channel_request *request = content->request;
	struct generation *generation = content->generation;
	struct worker *worker = content->worker;
	bool was_announced = content->was_announced;

	counter_add(was_announced ? &worker->counters.prefetch_served : &worker->counters.ahead_served, 1);
	content_tally(worker, request, piece->size);
	content_end(content);
	reply_data(worker, request, piece->bytes, piece->size);
	if (was_announced)
		announced_release(worker->serve->announced, piece);
	else
		ahead_release(worker->serve->ahead, generation, piece);
	generation_put(generation);
}

static enum kept_found content_look(struct content *content, struct kept_waiter *waiter, struct kept_piece *ret)
{
	const struct channel_request *request = content->request;
	const struct fuse_read_in *in = &request->wire.in.read;
	const struct kept_range range = {
		.key = content->generation->key,
		.ordinal = content->read.op.request.inode.ordinal,
		.offset = in->offset,
		.size = in->size < request->payload_size ? in->size : request->payload_size,
	};

	enum kept_found found = announced_take(content->worker->serve->announced, &range, waiter, ret);

	content->was_announced = found != KEPT_NONE;
	return found == KEPT_NONE ? ahead_take(content->worker->serve->ahead, &range, waiter, ret) : found;
}

/* Continues a READ when its file was read ahead, or could not be. Runs on the worker's thread. */
static void content_arrived(struct worker_task *task)
{
	struct content *content = (struct content *)((char *)task - offsetof(struct content, task));
	struct worker *worker = content->worker;
	struct kept_piece piece;

	worker->waiting.reads--;
	generations_enter(&worker->section);
	content_works(&content->read.op);
	atomic_store_explicit(&content->read.op.wait.since, 0, memory_order_relaxed);
	if (channel_is_answered(content->request)) { /* past the deadline, or the process was killed */
		content_end(content);
		generation_put(content->generation);
		reply_end(worker, content->request);
	} else if (content_look(content, NULL, &piece) == KEPT_FOUND) {
		content_give(content, &piece);
	} else {
		content_fill(content);
		queue_read(&content->read);
	}
	content_rests(&worker->queue->reader);
	generations_leave(&worker->section);
}

/* Runs on the thread that reads ahead. */
static void content_tell(struct kept_waiter *waiter)
{
	struct content *content = (struct content *)((char *)waiter - offsetof(struct content, waiter));

	worker_post(content->worker, &content->task);
}

/* Whether one more READ may wait for the thread that reads ahead. That thread may itself wait for the reply to a READ
 * that is still in the kernel and needs a slot. Two more are left, for a visit and a command. */
static bool content_may_wait(const struct worker *worker)
{
	return worker_jobs(worker) + 2 < worker->serve->machine.jobs;
}

/* Answers a READ with bytes that were read ahead, or lets it wait for them. False: it must be read. */
static bool content_take_ahead(struct content *content)
{
	struct kept_waiter *waiter = content_may_wait(content->worker) ? &content->waiter : NULL;
	struct kept_piece piece;
	enum kept_found found;

	content->task.run = content_arrived;
	content->waiter.arrived = content_tell;
	found = content_look(content, waiter, &piece);
	if (found == KEPT_NONE) {
		announced_forget(content->worker->serve->announced, content->generation,
				 &content->read.op.request.inode);
	} else if (found == KEPT_FOUND) {
		content_give(content, &piece);
	} else { /* waits for the device like any other READ */
		content->worker->waiting.reads++;
		atomic_store(&content->read.op.wait.since, content->request->arrived);
	}
	return found != KEPT_NONE;
}

/* Reads ahead only after the READ was begun or answered. By then the slot may have another request, so the values are
 * copied first; the section keeps the generation. */
void content_read(struct worker *worker, struct channel_request *request)
{
	struct content *content = content_at(worker, request->slot);
	bool is_head = request->wire.in.read.offset == 0;
	uint32_t thread = request->wire.pid;
	struct generation *generation;
	uint64_t ordinal;
	int r = content_find(content, worker, request);

	if (r < 0) {
		reply_error(worker, request, r);
		return;
	}
	generation = content->generation;
	ordinal = content->read.op.request.inode.ordinal;
	content->worker = worker;
	content->request = request;
	generation_get(generation);
	atomic_store_explicit(&worker->reading[request->slot], content_node(content), memory_order_relaxed);
	if (!content_take_ahead(content)) {
		content_fill(content);
		queue_read(&content->read);
	}
	if (is_head)
		ahead_read(worker->serve->ahead, generation, thread, ordinal);
}

/* ---- reads that do not come back ---- */

/* Gives the request the spare content's payload and leaves its own to the device. Not over io_uring, where the kernel
 * knows the payload by its address; nothing is read into it there, see read_request.keeps_payload. */
static void content_swap_payload(struct content *content, struct content *spare)
{
	content->payload = content->request->payload;
	content->request->payload = spare->payload;
	spare->payload = NULL;
}

/* Leaves a content's memory to the device, and begins its READ again with a spare content, which takes the slot. */
static void content_stuck(struct queue_slot *read)
{
	struct content *content = (struct content *)read, *spare;

	if (!queue_may_leave(read->queue, 1))
		return;
	queue_leave(read);
	spare = (struct content *)queue_take(read->queue);
	spare->worker = content->worker;
	spare->request = content->request;
	spare->generation = content->generation;
	spare->was_announced = content->was_announced;
	spare->read.op.request.inode = content->read.op.request.inode;
	if (spare->payload)
		content_swap_payload(content, spare);
	generation_get(content->generation);
	atomic_store_explicit(&content->worker->contents->slot[spare->request->slot], spare, memory_order_release);
	content_fill(spare);
	queue_read(&spare->read);
}

static void content_let_go(struct queue_slot *read)
{
	generation_put(((struct content *)read)->generation);
}

/* ---- set-up and end ---- */

/* Slots of the channel keep the contents that they take; the others are spare. */
static int content_lay_out(struct worker *worker, struct contents *contents, struct error *err)
{
	struct queue *queue = &contents->queue;
	unsigned slots = (unsigned)worker->slots;

	for (unsigned i = 0; i < slots; i++)
		atomic_store(&contents->slot[i], (struct content *)queue_take(queue));
	if (!queue->spare || worker->channel->ops->own_thread)
		return 0;
	if (payloads_reserve(&contents->payloads, slots, INIT_READ_MAX, err) < 0)
		return err->code;
	for (unsigned i = 0; i < queue->spare; i++)
		((struct content *)queue_at(queue, slots + i))->payload = payloads_at(&contents->payloads, i);
	return 0;
}

static const struct queue_client content_client = {
	.slot_size = sizeof(struct content),
	.events = &content_events,
	.done = content_done,
	.let_go = content_let_go,
	.stuck = content_stuck,
};

int content_open(struct worker *worker, struct error *err)
{
	const struct serve *serve = worker->serve;
	const struct queue_setup setup = {
		.client = &content_client,
		.reader = { .options = &serve->options.read,
			    .geometry = serve->volume.array->geometry,
			    .cache = serve->cache,
			    .pages = serve->pages,
			    .route = serve->volume.route,
			    .window = serve->volume.window,
			    .cached = serve->cached,
			    .keeps = serve->options.cache_fill == MOUNT_FILL_READS,
			    .counters = &worker->counters.read },
		.depth = (unsigned)worker->slots,
		.spare = serve_has_places(serve) ? (unsigned)worker->slots : 0,
	};
	struct contents *contents = calloc(1, sizeof(*contents));
	int r;

	worker->contents = contents;
	worker->reading = calloc(worker->slots, sizeof(*worker->reading));
	if (contents)
		contents->slot = calloc(worker->slots, sizeof(contents->slot[0]));
	if (!contents || !contents->slot || !worker->reading)
		return error_no_memory(err);
	worker->queue = &contents->queue;
	contents->errand.worker = worker;
	r = queue_open(&contents->queue, &setup, err);
	return r < 0 ? r : content_lay_out(worker, contents, err);
}

void content_close(struct worker *worker)
{
	struct contents *contents = worker->contents;

	if (!contents)
		return;
	payloads_free(&contents->payloads);
	queue_close(&contents->queue);
	free(contents->slot);
	free(contents);
	free(worker->reading);
	worker->queue = NULL;
	worker->contents = NULL;
	worker->reading = NULL;
}
