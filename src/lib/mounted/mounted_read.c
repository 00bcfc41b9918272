/* SPDX-License-Identifier: MIT */
/* Reads with threads that live as long as a call: each takes the next read, opens the file, reads it and closes it. A
 * pool that outlived the call would have to survive forks. */
#include "lib/mounted/mounted_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/thread/thread.h"
#include "base/transfer.h"
#include "lib/arena.h"
#include "lib/fifo.h"
#include "lib/mounted/mounted_node.h"

#define READ_THREADS 16u              /* threads besides the caller's, at most */
#define READ_STACK   ((size_t)256 << 10)
#define READ_ALIGN   64u              /* alignment of a result in the arena */
#define READ_QUEUED  64u              /* reads of a queue that are made together, at most */

/* State shared by the threads of a call. */
struct read_call {
	struct mounted_version *mounted;
	struct dsfs_read **reads;
	size_t count;
	_Atomic size_t next;
	_Atomic bool lacks_descriptors; /* some reads failed with -EMFILE: fewer at a time may succeed */
	pthread_mutex_t lock;           /* guards the next three */
	struct dsfs_arena *arena;
	size_t failed; /* the first failed read, with its reason in err; count: none */
	struct error *err;
};

static void mounted_read_explain(struct read_call *call, size_t number, const struct error *why)
{
	pthread_mutex_lock(&call->lock);
	if (number < call->failed) {
		call->failed = number;
		error_pass(call->err, why->code, why);
	}
	pthread_mutex_unlock(&call->lock);
}

static int mounted_read_place(struct read_call *call, struct dsfs_read *read, uint64_t size, struct error *err)
{
	if (!call->arena)
		return error_set(err, -EINVAL, "the read of id %" PRIu64 " has no buffer, and there is no arena",
				 read->id);
	pthread_mutex_lock(&call->lock);
	read->buffer = arena_take(call->arena, size, READ_ALIGN);
	pthread_mutex_unlock(&call->lock);
	if (!read->buffer)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " bytes in the arena", size);
	return 0;
}

static int64_t mounted_read_bytes(int fd, const struct dsfs_read *read, uint64_t size, struct error *err)
{
	ssize_t n = transfer_read_at(fd, read->buffer, size, read->offset);

	if (n < 0)
		return error_errno(err, "cannot read inode %" PRIu64 " through the mount at offset %" PRIu64, read->id,
				   read->offset);
	return n;
}

static int64_t mounted_read_open(struct read_call *call, struct dsfs_read *read, struct error *err)
{
	auto_close int fd = -1;
	uint64_t left, size;
	struct stat st;
	int r = lib_check_id(&call->mounted->opened, read->id, err);

	if (r < 0)
		return r;
	if (!read->buffer && !call->arena)
		return mounted_read_place(call, read, 0, err);
	fd = mounted_node_open(call->mounted, read->id, O_RDONLY | O_NONBLOCK | O_NOCTTY, &st, err);
	if (fd < 0)
		return fd == -ELOOP ? lib_refuse_kind(read->id, S_IFLNK, err) : fd;
	if (!S_ISREG(st.st_mode))
		return lib_refuse_kind(read->id, st.st_mode, err);
	left = (uint64_t)st.st_size > read->offset ? (uint64_t)st.st_size - read->offset : 0;
	size = read->size < left ? read->size : left;
	if (!read->buffer && size)
		r = mounted_read_place(call, read, size, err);
	return r < 0 ? r : mounted_read_bytes(fd, read, size, err);
}

static void mounted_read_one(struct read_call *call, size_t number)
{
	struct error why;

	error_clear(&why);
	call->reads[number]->result = mounted_read_open(call, call->reads[number], &why);
	if (call->reads[number]->result == -EMFILE)
		atomic_store(&call->lacks_descriptors, true);
	if (call->reads[number]->result < 0)
		mounted_read_explain(call, number, &why);
}

static void mounted_read_main(void *argument)
{
	struct read_call *call = argument;
	size_t number;

	while ((number = atomic_fetch_add(&call->next, 1)) < call->count)
		mounted_read_one(call, number);
}

/* Repeats failed reads one by one, as the process may have had too few descriptors; other failures get their reason. */
static void mounted_read_again(struct read_call *call)
{
	call->failed = call->count;
	for (size_t i = 0; i < call->count; i++)
		if (call->reads[i]->result < 0)
			mounted_read_one(call, i);
}

/* Finds all paths before threads start, as they could not share the work of a sweep. */
static void mounted_read_find(struct read_call *call)
{
	struct error ignored;

	for (size_t i = 0; i < call->count; i++)
		mounted_node_find(call->mounted, call->reads[i]->id, &ignored);
}

static int mounted_read_run(struct read_call *call, struct error *err)
{
	const struct thread_setup setup = { .run = mounted_read_main, .argument = call, .stack = READ_STACK,
					    .without_signals = true };
	struct thread threads[READ_THREADS];
	size_t most = call->count / 2 < READ_THREADS ? call->count / 2 : READ_THREADS;

	call->failed = call->count;
	call->err = err;
	pthread_mutex_init(&call->lock, NULL);
	if (most)
		mounted_read_find(call);
	thread_share(threads, (unsigned)most + 1, &setup);
	if (atomic_load(&call->lacks_descriptors))
		mounted_read_again(call);
	pthread_mutex_destroy(&call->lock);
	return call->failed < call->count ? (int)call->reads[call->failed]->result : 0;
}

int mounted_read_many(struct opened *opened, struct dsfs_read *reads, size_t count, struct dsfs_arena *arena,
		      struct error *err)
{
	struct dsfs_read *one = reads;
	auto_free struct dsfs_read **many = count > 1 ? calloc(count, sizeof(*many)) : NULL;
	struct read_call call = { .mounted = (struct mounted_version *)opened, .reads = many ? many : &one,
				  .count = count, .arena = arena };

	if (count > 1 && !many)
		return error_no_memory(err);
	for (size_t i = 0; many && i < count; i++)
		many[i] = &reads[i];
	return mounted_read_run(&call, err);
}

/* --- a queue --- */

/* A queue whose reads are made only within wait: nothing happens in between, and a read that hangs cannot be left. */
struct read_queue {
	struct pending pending; /* must be first */
	struct mounted_version *mounted;
	unsigned most; /* reads that are made together */
	struct fifo todo, done;
};

static int mounted_read_submit(struct pending *pending, struct dsfs_read *reads, size_t count, struct error *err)
{
	struct read_queue *queue = (struct read_queue *)pending;
	int r = fifo_reserve(&queue->todo, count, err);

	if (r == 0)
		r = fifo_reserve(&queue->done, queue->todo.count + count, err);
	for (size_t i = 0; r == 0 && i < count; i++)
		fifo_add(&queue->todo, &reads[i]);
	return r;
}

static void mounted_read_some(struct read_queue *queue, struct error *err)
{
	struct dsfs_read *reads[READ_QUEUED];
	struct read_call call = { .mounted = queue->mounted, .reads = reads };

	while (call.count < queue->most && queue->todo.count)
		reads[call.count++] = fifo_take(&queue->todo);
	(void)mounted_read_run(&call, err); /* each read's result has the error */
	for (size_t i = 0; i < call.count; i++)
		fifo_add(&queue->done, reads[i]);
}

/* Makes some reads even if least is 0: otherwise a caller that only polls would never get any. */
static int mounted_read_wait(struct pending *pending, size_t least, struct dsfs_read **ret, size_t most, int timeout,
			     struct error *err)
{
	struct read_queue *queue = (struct read_queue *)pending;
	size_t count = 0;

	(void)timeout;
	while (queue->todo.count && (!queue->done.count || queue->done.count < least))
		mounted_read_some(queue, err);
	while (count < most && queue->done.count)
		ret[count++] = fifo_take(&queue->done);
	return (int)count;
}

static void mounted_read_free(struct pending *pending)
{
	struct read_queue *queue = (struct read_queue *)pending;

	fifo_free(&queue->todo);
	fifo_free(&queue->done);
	free(queue);
}

int mounted_read_pending(struct opened *opened, unsigned depth, struct pending **ret, struct error *err)
{
	static const struct pending_ops ops = {
		.submit = mounted_read_submit, .wait = mounted_read_wait, .free = mounted_read_free,
	};
	struct read_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return error_no_memory(err);
	queue->pending.ops = &ops;
	queue->mounted = (struct mounted_version *)opened;
	queue->most = depth && depth < READ_QUEUED ? depth : READ_QUEUED;
	*ret = &queue->pending;
	return 0;
}
