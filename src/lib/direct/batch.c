/* SPDX-License-Identifier: MIT */
/* Runs many reads on one context. A file is read in pieces of at most READ_MAX, each by a slot. There are enough slots
 * to keep the device busy; a limit on their bytes in flight keeps the memory behind them small. */
#include "lib/direct/batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/round.h"
#include "lib/arena.h"
#include "lib/direct/rescue.h"
#include "read/cached.h"

#define BATCH_BYTES (UINT64_C(8) << 20)         /* bytes in flight at most, but for one read */
#define BATCH_RETRY (INT64_C(250) * 1000000)    /* ns between two retries while the path to the device fails */
#define BATCH_LOST  INT64_C(1000000)            /* ns between two checks for completions of a lost ring */

/* A caller's read in progress, or several that lie side by side. */
struct batch_file {
	struct dsfs_read *read;
	struct plan *plan;       /* of the joined reads, with a use */
	struct plan_join joined; /* count: of the plan's reads that are made as one; 0: the read is alone */
	struct inode inode;
	uint64_t next, end; /* offsets in the file: the part that is not started yet */
	uint8_t *payload;   /* destination of the part from next on */
	size_t room;        /* bytes of room at payload */
	size_t lead;        /* bytes before payload that may be overwritten */
	bool is_placed;     /* the payload lies in the arena */
	bool is_handed_out; /* see batch_hand_out() */
	unsigned pending;   /* slots in flight */
	int error;
	struct batch_file *next_file; /* in one of the batch's lists */
};

struct batch_slot {
	struct queue_slot read; /* must be first */
	struct batch *batch;
	struct batch_file *file;
	bool is_settled; /* its read failed, and the outcome is known: see batch_slot_failed() */
	/* Set when the slot is left: the block of the arena that the device may write to; NULL: none. */
	struct arena_block *held;
};

/* The files of a context's batches: one more than slots are read at a time, for the file that is being started. The
 * free ones are a stack, as those of the queue are: each is pages long. */
struct batch_files {
	unsigned free_count; /* all are free between two batches */
	struct batch_file *free[];
};

/* --- results --- */

static void batch_explain(struct batch *batch, const struct dsfs_read *read, const struct error *why)
{
	if (batch->failed && !batch->done && batch->failed < read)
		return;
	batch->failed = read;
	error_pass(batch->err, why->code, why);
}

static void batch_finish(struct batch *batch, struct dsfs_read *read, int64_t result)
{
	read->result = result;
	if (batch->done)
		fifo_add(batch->done, read);
}

/* Ends a read for which the device was asked, and counts it. */
static void batch_finish_read(struct batch *batch, struct dsfs_read *read, int64_t result)
{
	tally_count(&batch->context->tally, result);
	batch_finish(batch, read, result);
}

static void batch_refuse(struct batch *batch, struct dsfs_read *read, const struct error *why)
{
	batch_explain(batch, read, why);
	batch_finish(batch, read, why->code);
}

static void batch_free_file(struct batch *batch, struct batch_file *file)
{
	plan_put(file->plan);
	file->plan = NULL;
	batch->files->free[batch->files->free_count++] = file;
}

/* Returns the next free file, which stays free until batch_take_file(). */
static struct batch_file *batch_next_file(const struct batch *batch)
{
	return batch->files->free[batch->files->free_count - 1];
}

static void batch_take_file(struct batch *batch, struct batch_file *file)
{
	batch->files->free_count--;
	batch->file = file;
}

/* Sets where the content of each joined read is, and its result, unless it has failed since the device was asked. */
static void batch_hand_out(struct batch_file *file)
{
	const struct chunk *chunks = file->plan->chunks;
	uint64_t start = chunks[file->joined.chunk].address, at = 0;

	if (file->is_handed_out)
		return;
	file->is_handed_out = true;
	for (uint32_t i = 0; i < file->joined.count; i++) {
		const struct plan_file *one = &file->plan->files[file->joined.first + i];
		uint64_t bytes = plan_bytes(file->plan, one);

		if (file->joined.is_spread)
			at = chunks[one->chunk].address - start;
		if (!file->joined.has_buffers)
			one->read->buffer = file->payload + at;
		at += bytes;
		one->read->result = (int64_t)bytes;
	}
}

static void batch_finish_joined(struct batch *batch, struct batch_file *file)
{
	batch_hand_out(file);
	for (uint32_t i = 0; i < file->joined.count; i++) {
		struct dsfs_read *read = file->plan->files[file->joined.first + i].read;

		batch_finish_read(batch, read, file->error ? file->error : read->result);
	}
}

static void batch_close_file(struct batch *batch, struct batch_file *file)
{
	struct dsfs_read *read = file->read;

	if (file->pending || file->next < file->end)
		return;
	if (batch->file == file)
		batch->file = NULL;
	if (file->joined.count)
		batch_finish_joined(batch, file);
	else
		batch_finish_read(batch, read, file->error ? file->error : (int64_t)(file->end - read->offset));
	batch_free_file(batch, file);
}

static void batch_let_go(struct queue_slot *read)
{
	arena_let_go(((struct batch_slot *)read)->held);
}

static void batch_slot_done(struct queue_slot *read, int64_t result)
{
	struct batch_slot *slot = (struct batch_slot *)read;
	struct batch *batch = slot->batch;
	struct batch_file *file = slot->file;

	if (slot->is_settled)
		result = file->error;
	batch->bytes -= read->op.request.size;
	queue_give(read);
	file->pending--;
	if (result < 0) {
		if (!file->error)
			file->error = (int)result;
		file->next = file->end;
		if (batch->file == file)
			batch->file = NULL;
	}
	batch_close_file(batch, file);
}

/* --- failures --- */

static void batch_wrap_chunk(const struct direct_volume *volume, const char *path, const struct chunk *chunk,
			     struct error *why)
{
	char whose[32] = "the volume";

	if (volume->array->count > 1)
		snprintf(whose, sizeof(whose), "member %" PRIu32, address_member(chunk->address));
	error_wrap(why, why->code, "'%s': chunk %" PRIu64 " at offset %" PRIu64 " of %s", path, chunk->number,
		   address_offset(chunk->address), whose);
}

/* Makes a read through the mount, or explains why it fails, and returns the reason's code. A wrong sum by a descriptor
 * that leads elsewhere is no damage. */
static int batch_rescue(struct batch *batch, const struct dsfs_read *read, const struct read_request *request,
			const struct chunk *chunk, const struct error *err)
{
	const struct direct *direct = batch->context->direct;
	struct error why = *err, other = { 0 };
	char path[512];

	if (direct_check_volume(direct->volume, &other) < 0)
		why = other;
	if (rescue_read(direct, request, &why) == 0)
		return 0;
	inode_path(direct->version.index, request->inode.ordinal, path, sizeof(path));
	if (chunk)
		batch_wrap_chunk(direct->volume, path, chunk, &why);
	else
		error_wrap(&why, why.code, "'%s'", path);
	batch_explain(batch, read, &why);
	return why.code;
}

/* Rescues the joined reads that need the chunk; NULL: all of them. */
static void batch_joined_failed(struct batch_slot *slot, const struct chunk *chunk, const struct error *err)
{
	const struct batch_file *file = slot->file;
	struct read_request request = { .version = slot->read.op.request.version };
	int r;

	batch_hand_out(slot->file);
	for (uint32_t i = 0; i < file->joined.count; i++) {
		const struct plan_file *one = &file->plan->files[file->joined.first + i];

		if (one->read->result < 0 || (chunk && !plan_has(file->plan, one, chunk)))
			continue;
		request.payload = one->read->buffer;
		request.size = plan_bytes(file->plan, one);
		r = inode_get(request.version.index, one->read->id & PLAN_ORDINAL, &request.inode, NULL);
		if (r == 0)
			r = batch_rescue(slot->batch, one->read, &request, chunk, err);
		if (r < 0)
			one->read->result = r;
	}
}

static void batch_slot_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	struct batch_slot *slot = (struct batch_slot *)op;
	struct batch_file *file = slot->file;
	int r = 0;

	slot->is_settled = true;
	if (file->joined.count)
		batch_joined_failed(slot, chunk, err);
	else
		r = batch_rescue(slot->batch, file->read, &op->request, chunk, err);
	if (!file->error)
		file->error = r;
}

/* --- starting --- */

/* As op_align(), by which reads are laid out. */
static uint64_t batch_align(const struct batch *batch)
{
	const struct context *context = batch->context;

	return context->cached ? DIRECT_ALIGN : context->direct->volume->array->geometry->logical_block;
}

/* Gives the file a place in the arena, as far into a block as on the volume, so that the device can write there. */
static int batch_place(struct batch *batch, struct batch_file *file, uint64_t size, struct error *err)
{
	const struct direct *direct = batch->context->direct;
	uint64_t align = batch_align(batch), in_chunk, skew = 0;
	struct chunk chunk;
	uint8_t *bytes;
	int r = chunk_get(direct->version.index, &file->inode, file->next >> direct->version.index->chunk_log, &chunk,
			  err);

	if (r < 0)
		return r;
	in_chunk = file->next & ((UINT64_C(1) << direct->version.index->chunk_log) - 1);
	if (chunk.codec == DSFS_CODEC_RAW && !chunk_is_hole(&chunk) && !chunk_is_inline(&chunk))
		skew = (address_offset(chunk.address) + in_chunk) % align;
	bytes = arena_take(batch->arena, round_up(skew + size, align), align);
	if (!bytes)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes in the arena", size);
	file->lead = skew;
	file->payload = bytes + skew;
	file->room = round_up(skew + size, align) - skew;
	file->read->buffer = file->payload;
	return 0;
}

static int batch_check(struct batch *batch, const struct batch_file *file, struct error *err)
{
	const struct dsfs_read *read = file->read;

	if (!S_ISREG(file->inode.mode))
		return lib_refuse_kind(read->id, file->inode.mode, err);
	if (!read->buffer && !batch->arena)
		return error_set(err, -EINVAL, "the read of id %" PRIu64 " has no buffer, and there is no arena",
				 read->id);
	return permission_check(&batch->permission, &file->inode, PERMISSION_READ, err);
}

static int batch_prepare(struct batch *batch, struct batch_file *file, struct error *err)
{
	const struct direct *direct = batch->context->direct;
	struct dsfs_read *read = file->read;
	uint64_t left, size;
	int r = lib_check_id(&direct->opened, read->id, err);

	if (r == 0)
		r = inode_get(direct->version.index, read->id & PLAN_ORDINAL, &file->inode, err);
	if (r == 0)
		r = batch_check(batch, file, err);
	if (r < 0)
		return r;
	left = read->offset < file->inode.size ? file->inode.size - read->offset : 0;
	size = read->size < left ? read->size : left;
	file->next = read->offset;
	file->end = read->offset + size;
	file->payload = read->buffer;
	file->room = read->size;
	file->lead = 0;
	file->is_placed = !read->buffer && size;
	return read->buffer || !size ? 0 : batch_place(batch, file, size, err);
}

static struct batch_slot *batch_take_slot(struct batch *batch)
{
	return (struct batch_slot *)queue_take(&batch->context->queue);
}

/* Starts the read in the slot's request. */
static void batch_start_slot(struct batch *batch, struct batch_slot *slot, struct batch_file *file)
{
	struct read_request *request = &slot->read.op.request;

	slot->batch = batch;
	slot->file = file;
	slot->is_settled = false;
	file->is_handed_out = false;
	request->wanted = NULL;
	file->pending++;
	batch->bytes += request->size;
	queue_read(&slot->read);
}

static void batch_ask_joined(const struct batch_file *file, struct read_request *request)
{
	const struct plan_join *join = &file->joined;

	request->chunks = file->plan->chunks + join->chunk;
	request->chunk_count = join->chunk_count;
	request->gap = PLAN_GAP;
	request->is_spread = join->is_spread;
	request->places = join->has_buffers ? file->plan->places + join->chunk : NULL;
}

static void batch_ask_range(struct batch_file *file, struct read_request *request)
{
	request->chunks = NULL;
	request->gap = 0;
	request->is_spread = false;
	request->places = NULL;
	file->payload += request->size;
	file->room -= request->size;
	file->lead = 0;
}

static void batch_start_piece(struct batch *batch, struct batch_file *file)
{
	const struct direct *direct = batch->context->direct;
	struct batch_slot *slot = batch_take_slot(batch);
	struct read_request *request = &slot->read.op.request;
	uint64_t left = file->end - file->next;

	request->version = (struct read_version){ direct->version.index, direct->version.block_sums, direct->key };
	request->inode = file->inode;
	request->offset = file->next;
	request->size = left < READ_MAX ? left : READ_MAX;
	request->payload = file->payload;
	request->room = left > READ_MAX ? READ_MAX : file->room; /* the rest is another slot's */
	request->lead = file->lead;
	request->keeps_payload = batch->context->queue.watches && !file->is_placed;
	file->next += request->size;
	if (file->joined.count)
		batch_ask_joined(file, request);
	else
		batch_ask_range(file, request);
	batch_start_slot(batch, slot, file);
}

/* Plans what waits by now, once the former plan is used up. A program that reads at random pays for a look at each read
 * that waits, at most. */
static void batch_plan(struct batch *batch)
{
	if (batch->unplanned || (batch->plan && !plan_is_over(batch->plan)))
		return;
	plan_put(batch->plan);
	batch->plan = NULL;
	if (!plan_make(batch->context->direct, batch->context->cached, &batch->permission, batch->todo, &batch->plan))
		batch->unplanned = batch->todo->count < PLAN_MOST ? batch->todo->count : PLAN_MOST;
}

static struct dsfs_read *batch_next(struct batch *batch)
{
	if (batch->plan)
		return plan_take(batch->plan);
	batch->unplanned -= batch->unplanned > 0;
	plan_expect(batch->context->direct->version.index, fifo_peek(batch->todo, 2 * PLAN_AHEAD),
		    fifo_peek(batch->todo, PLAN_AHEAD));
	return fifo_take(batch->todo);
}

/* Takes memory in the arena for all joined files, in which they lie as on the volume if that spares a copy; false:
 * there is none. */
static bool batch_place_joined(struct batch *batch, struct batch_file *file)
{
	const struct plan_join *join = &file->joined;
	uint64_t in_block = address_offset(file->plan->chunks[join->chunk].address) % DSFS_BLOCK;
	uint64_t skew = join->is_spread ? in_block : 0;
	uint64_t bytes = join->is_spread ? round_up(skew + plan_span(file->plan, join), DSFS_BLOCK) : join->bytes;
	uint8_t *taken = batch->arena ? arena_take(batch->arena, bytes, DSFS_BLOCK) : NULL;

	if (!taken)
		return false;
	file->payload = taken + skew;
	file->lead = skew;
	file->room = bytes - skew;
	file->next = 0;
	return true;
}

/* Starts the next reads as one; false: the next read must be made alone. */
static bool batch_start_joined(struct batch *batch)
{
	const struct plan_join *join = batch->plan ? plan_peek(batch->plan) : NULL;
	struct batch_file *file = batch_next_file(batch);

	if (!join)
		return false;
	*file = (struct batch_file){ .plan = batch->plan, .joined = *join, .end = join->bytes };
	file->read = batch->plan->files[join->first].read;
	file->is_placed = !join->has_buffers;
	if (file->is_placed && !batch_place_joined(batch, file)) {
		file->plan = NULL;
		return false;
	}
	plan_use(batch->plan)->next++;
	batch_take_file(batch, file);
	return true;
}

static void batch_start_again(struct batch *batch)
{
	batch->file = batch->again;
	batch->again = batch->file->next_file;
}

/* Starts the next read, or refuses it; false: there is none. */
static bool batch_start_file(struct batch *batch)
{
	struct batch_file *file;
	struct dsfs_read *read;
	struct error why;

	batch_plan(batch);
	if (batch_start_joined(batch))
		return true;
	read = batch_next(batch);
	if (!read)
		return false;
	error_clear(&why);
	file = batch_next_file(batch);
	file->joined.count = 0;
	file->read = read;
	file->pending = 0;
	file->error = 0;
	if (batch_prepare(batch, file, &why) < 0) {
		batch_refuse(batch, read, &why);
		return true;
	}
	batch_take_file(batch, file);
	batch_close_file(batch, file); /* ends it at once if it is empty */
	return true;
}

void batch_start(struct batch *batch)
{
	const struct queue *queue = &batch->context->queue;

	while (queue_has_room(queue) && (batch->again || batch->files->free_count) &&
	       (batch->bytes < BATCH_BYTES || !queue->reading)) {
		if (!batch->file && batch->again)
			batch_start_again(batch);
		if (!batch->file && !batch_start_file(batch))
			return;
		if (batch->file) {
			struct batch_file *file = batch->file;

			if (file->end - file->next <= READ_MAX)
				batch->file = NULL;
			batch_start_piece(batch, file);
		}
	}
}

/* --- reads that are stuck --- */

/* Leaves the slot, with its scratch and its block of the arena, to the device until the device lets go. */
static void batch_leave_slot(struct batch *batch, struct batch_slot *slot)
{
	struct batch_file *file = slot->file;

	slot->held = file->is_placed ? arena_hold(batch->arena, slot->read.op.request.payload) : NULL;
	file->pending--;
	batch->bytes -= slot->read.op.request.size;
	queue_leave(&slot->read);
}

/* Repeats a stuck read with another slot, as the device has nothing of the payload, and leaves the old slot to it. */
static void batch_replace_slot(struct batch *batch, struct batch_slot *slot)
{
	struct batch_slot *other;

	batch_leave_slot(batch, slot);
	other = batch_take_slot(batch);
	other->read.op.request = slot->read.op.request;
	batch_start_slot(batch, other, slot->file);
}

static int batch_place_again(struct batch *batch, struct batch_file *file, struct error *err)
{
	if (!file->joined.count) {
		file->next = file->read->offset;
		return batch_place(batch, file, file->end - file->next, err);
	}
	return batch_place_joined(batch, file) ? 0 : error_set(err, -ENOMEM, "no memory in the arena");
}

/* Leaves a file's slots to the device, and reads the file again from its beginning, into another place in the arena. */
static void batch_restart_file(struct batch *batch, struct batch_file *file)
{
	const struct queue *queue = &batch->context->queue;
	struct error why = { 0 };

	for (uint32_t i = 0; i < queue->count; i++) {
		struct batch_slot *slot = (struct batch_slot *)queue_at(queue, i);

		if (slot->file == file && slot->read.state == QUEUE_READING && slot->read.op.pending)
			batch_leave_slot(batch, slot);
	}
	if (!file->error && batch_place_again(batch, file, &why) < 0) {
		batch_explain(batch, file->read, &why);
		file->error = why.code;
		file->next = file->end;
	}
	if (file->error) {
		batch_close_file(batch, file);
	} else if (batch->file != file) {
		file->next_file = batch->again;
		batch->again = file;
	}
}

static void batch_slot_stuck(struct queue_slot *read)
{
	struct batch_slot *slot = (struct batch_slot *)read;

	if (!slot->file->is_placed && queue_may_leave(read->queue, 1))
		batch_replace_slot(slot->batch, slot);
	else if (slot->file->is_placed && queue_may_leave(read->queue, slot->file->pending))
		batch_restart_file(slot->batch, slot->file);
}

/* --- the loop --- */

static int batch_make_files(struct context *context, struct error *err)
{
	unsigned count = context->queue.count - context->queue.spare + 1;
	size_t head = sizeof(struct batch_files) + count * sizeof(struct batch_file *);
	struct batch_files *files = calloc(1, head + count * sizeof(struct batch_file));

	if (!files)
		return error_no_memory(err);
	for (unsigned i = count; i-- > 0;)
		files->free[files->free_count++] = (struct batch_file *)((char *)files + head) + i;
	context->files = files;
	return 0;
}

int batch_begin(struct batch *batch, bool many, unsigned depth, struct error *err)
{
	static const struct reader_events events = { .failed = batch_slot_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct batch_slot), .events = &events,
						    .done = batch_slot_done, .let_go = batch_let_go,
						    .stuck = batch_slot_stuck };
	struct context *context = batch->context;
	int r = context_start(context, &client, many, depth, err);

	if (r == 0 && !context->files)
		r = batch_make_files(context, err);
	if (r < 0)
		return r;
	batch->files = context->files;
	return 0;
}

bool batch_is_over(const struct batch *batch)
{
	return !batch->context->queue.reading && !batch->file && !batch->again && !batch->todo->count &&
	       !(batch->plan && !plan_is_over(batch->plan));
}

static void batch_sleep(int64_t limit, int64_t most)
{
	clock_sleep(limit < most ? limit : most);
}

/* Retries parked reads, and sleeps before if nothing else is in flight. If the daemon has a new descriptor, ours does
 * not recover: parked reads and all later ones of the context fail at once, and go through the mount. */
static void batch_retry(struct batch *batch, int64_t limit)
{
	struct reader *reader = &batch->context->queue.reader;
	unsigned parked = atomic_load_explicit(&reader->parked_count, memory_order_relaxed);
	int64_t now;

	if (!parked)
		return;
	if (rescue_knows_better(batch->context->direct)) {
		read_give_up(reader);
		return;
	}
	if (limit > 0 && parked == batch->context->queue.reading)
		batch_sleep(limit, BATCH_RETRY);
	now = clock_now();
	if (now - batch->retried < BATCH_RETRY)
		return;
	batch->retried = now;
	read_retry(reader);
}

/* Sleeps before it looks for completions of a lost ring, as nothing wakes us for them. */
static void batch_wait_lost(struct batch *batch, int64_t limit)
{
	if (limit > 0)
		batch_sleep(limit, BATCH_LOST);
	context_wind_up(batch->context);
}

/* Whether all busy slots are parked while others are left to the device: completions of these end no wait. */
static bool batch_is_parked(const struct batch *batch)
{
	const struct queue *queue = &batch->context->queue;

	return queue->left &&
	       atomic_load_explicit(&queue->reader.parked_count, memory_order_relaxed) == queue->reading;
}

static void batch_wait_engine(struct batch *batch, int64_t limit)
{
	struct error why = { 0 };

	if (queue_wait(&batch->context->queue, batch_is_parked(batch) ? 0 : limit, &why) < 0)
		context_lose_ring(batch->context);
}

void batch_wait(struct batch *batch, int64_t limit)
{
	bool is_lost;

	context_check_ring(batch->context);
	is_lost = batch->context->engines.lost;
	if (is_lost)
		batch_wait_lost(batch, limit);
	batch_wait_engine(batch, is_lost ? 0 : limit);
	batch_retry(batch, limit);
	batch_start(batch);
}

/* Whether the started reads, and `more` others, may be submitted together later: to submit each by itself would cost
 * more than the rest of the read. False while the device has nothing else to do. */
static bool batch_gathers(const struct batch *batch, size_t more)
{
	const struct queue *queue = &batch->context->queue;
	unsigned kept = queue->reader.engine->kept;

	return !(kept + more) || (kept + more < batch->gather && kept < queue->reading);
}

static void batch_push_now(struct batch *batch)
{
	batch_wait(batch, 0);
	batch_push(batch); /* other reads took the place of ones that ended */
}

void batch_push(struct batch *batch)
{
	if (!batch_gathers(batch, 0))
		batch_wait(batch, 0);
}

/* Whether what is in todo comes next, and may wait for more. */
static bool batch_holds(const struct batch *batch)
{
	bool is_next = !batch->file && !batch->again && !batch->unplanned &&
		       !(batch->plan && !plan_is_over(batch->plan));

	return is_next && batch_gathers(batch, batch->todo->count);
}

void batch_submit(struct batch *batch, bool at_once)
{
	size_t waiting;

	engine_reap(batch->context->queue.reader.engine);
	context_renew_cached(batch->context);
	if (!at_once && batch_holds(batch))
		return;
	waiting = batch->todo->count;
	batch_start(batch);
	if (at_once || waiting - batch->todo->count >= batch->gather)
		batch_push_now(batch);
	else
		batch_push(batch);
}

void batch_end(struct batch *batch)
{
	permission_end(&batch->permission);
	plan_put(batch->plan);
	batch->plan = NULL;
	if (batch->context)
		tally_tell(&batch->context->tally, &batch->context->counters, batch->context->direct->link,
			   batch->context->cached ? batch->context->cached->view : NULL, false);
}
