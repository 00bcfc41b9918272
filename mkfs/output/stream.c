/* SPDX-License-Identifier: MIT */
/* Fills one of two buffers while a thread writes the other. */
#include "output/stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "base/round.h"
#include "base/thread/thread.h"
#include "base/thread/work_queue.h"
#include "image/members/address.h"

_Static_assert(STREAM_BUFFER_MAX <= READBACK_MAX, "a buffer is read back whole");

struct stream_buffer {
	uint8_t *bytes;
	uint64_t base; /* offset on the member, a multiple of a block */
	size_t used;
	uint64_t copies[DSFS_COPIES_MAX]; /* addresses of the base: in the data column and in its copies */
	uint32_t copy_count;
};

struct stream {
	struct stream_setup setup;
	struct stream_buffer buffers[2];
	unsigned filling; /* the buffer being filled; the other one is being written, or idle */
	uint64_t at;      /* offset of the next byte */
	uint64_t inside;  /* offset of the next byte while padding of the buffer being filled is used; 0: at counts */

	struct thread thread;
	struct work_queue queue; /* has a job while the thread writes the other buffer */
	int result;              /* the thread's first failure, with error */
	struct error error;
};

static int stream_write_copy(struct stream *stream, const struct stream_buffer *buffer, uint64_t address,
			     struct error *err)
{
	int r = source_write(stream->setup.source, address_member(address), address_offset(address), buffer->bytes,
			     buffer->used, err);

	return r < 0 ? r : readback_add(stream->setup.readback, address, buffer->bytes, buffer->used, err);
}

static int stream_flush_buffer(struct stream *stream, const struct stream_buffer *buffer, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < buffer->copy_count; i++)
		r = stream_write_copy(stream, buffer, buffer->copies[i], err);
	return r;
}

static void stream_run(void *argument)
{
	struct stream *stream = argument;
	struct error why = { 0 };
	uint64_t job;
	int r;

	while (work_queue_start(&stream->queue, &job)) {
		r = stream_flush_buffer(stream, &stream->buffers[!stream->filling], &why);
		if (r < 0 && !stream->result) {
			stream->result = r;
			stream->error = why;
		}
		work_queue_done(&stream->queue, job);
	}
}

static void stream_free(struct stream *stream)
{
	free(stream->buffers[0].bytes);
	free(stream->buffers[1].bytes);
	free(stream);
}

static int stream_start(struct stream *stream, struct error *err)
{
	const struct thread_setup setup = { .run = stream_run, .argument = stream };

	stream->buffers[0].bytes = huge_alloc(stream->setup.buffer_size);
	stream->buffers[1].bytes = huge_alloc(stream->setup.buffer_size);
	if (!stream->buffers[0].bytes || !stream->buffers[1].bytes)
		return error_no_memory(err);
	work_queue_open(&stream->queue, 1, 1);
	return thread_start(&stream->thread, 1, &setup, err);
}

int stream_open(const struct stream_setup *setup, struct stream **ret, struct error *err)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return error_no_memory(err);
	stream->setup = *setup;
	r = stream_start(stream, err);
	if (r < 0) {
		stream_free(stream);
		return r;
	}
	*ret = stream;
	return 0;
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	work_queue_end(&stream->queue);
	thread_join(&stream->thread);
	work_queue_close(&stream->queue);
	stream_free(stream);
}

static int stream_wait(struct stream *stream, struct error *err)
{
	uint64_t job;

	if (work_queue_count(&stream->queue) && work_queue_take(&stream->queue, &job))
		work_queue_give_back(&stream->queue);
	return stream->result < 0 ? error_pass(err, stream->result, &stream->error) : 0;
}

/* Begins the buffer at base, and finds the addresses that it is written to. */
static void stream_begin(struct stream *stream, struct stream_buffer *buffer, uint64_t base)
{
	buffer->base = base;
	buffer->used = 0;
	buffer->copy_count = allocator_copies(stream->setup.allocator, address_make(stream->setup.member, base),
					      buffer->copies);
}

/* Pads the buffer to a whole block and hands it to the thread; the other one is then filled, starting at base. */
static int stream_swap(struct stream *stream, uint64_t base, struct error *err)
{
	struct stream_buffer *full = &stream->buffers[stream->filling];
	size_t padding = (DSFS_BLOCK - full->used % DSFS_BLOCK) % DSFS_BLOCK;
	uint64_t job;
	int r;

	r = stream_wait(stream, err);
	if (r < 0)
		return r;
	allocator_forget_gaps(stream->setup.allocator, stream->setup.member);
	memset(full->bytes + full->used, 0, padding);
	full->used += padding;
	stream->filling = !stream->filling;
	stream_begin(stream, &stream->buffers[stream->filling], base);
	if (full->used && work_queue_begin(&stream->queue, &job))
		work_queue_submit(&stream->queue);
	return 0;
}

/* Returns the room left in the buffer. Writes end at multiples of its size, so a drive with large pages must read and
 * modify only at the ends. They end with a group as well, because the copies of the next group lie elsewhere. */
static size_t stream_room(const struct stream *stream, const struct stream_buffer *buffer)
{
	uint64_t room = stream->setup.buffer_size - buffer->base % stream->setup.buffer_size;
	uint64_t group = allocator_room_in_group(stream->setup.allocator, buffer->base);

	return room < group ? room : group;
}

static int stream_put(struct stream *stream, const uint8_t *bytes, size_t length, struct error *err)
{
	struct stream_buffer *buffer = &stream->buffers[stream->filling];
	size_t part;
	int r;

	while (length) {
		if (buffer->used == stream_room(stream, buffer)) {
			r = stream_swap(stream, buffer->base + buffer->used, err);
			if (r < 0)
				return r;
			buffer = &stream->buffers[stream->filling];
		}
		part = stream_room(stream, buffer) - buffer->used;
		part = part < length ? part : length;
		if (bytes) {
			memcpy(buffer->bytes + buffer->used, bytes, part);
			bytes += part;
		} else {
			memset(buffer->bytes + buffer->used, 0, part);
		}
		buffer->used += part;
		length -= part;
		stream->at += part;
	}
	return 0;
}

/* Padding inside a contiguous extent is zeros, and can be used as long as its buffer is being filled. Another extent
 * starts with a new buffer. */
int stream_move(struct stream *stream, uint64_t offset, struct error *err)
{
	int r;

	stream->inside = 0;
	if (offset == stream->at)
		return 0;
	if (offset >= stream->buffers[stream->filling].base && offset < stream->at) {
		stream->inside = offset;
		return 0;
	}
	if (stream->at && offset > stream->at && offset - stream->at < DSFS_BLOCK)
		return stream_put(stream, NULL, offset - stream->at, err);
	r = stream_swap(stream, offset, err);
	if (r == 0)
		stream->at = offset;
	return r;
}

static void stream_fill(struct stream *stream, const void *bytes, size_t length)
{
	const struct stream_buffer *buffer = &stream->buffers[stream->filling];

	memcpy(buffer->bytes + (stream->inside - buffer->base), bytes, length);
	stream->inside += length;
}

int stream_append(struct stream *stream, const void *bytes, size_t length, uint64_t *ret_offset, struct error *err)
{
	*ret_offset = stream->inside ? stream->inside : stream->at;
	if (!stream->inside)
		return stream_put(stream, bytes, length, err);
	stream_fill(stream, bytes, length);
	return 0;
}

/* Returns bytes in a buffer, which do not change meanwhile; NULL if it does not have all of them. */
static const uint8_t *stream_buffered(const struct stream_buffer *buffer, uint64_t offset, size_t length)
{
	if (offset < buffer->base || offset + length > buffer->base + buffer->used)
		return NULL;
	return buffer->bytes + (offset - buffer->base);
}

/* Loads the blocks from start to end into scratch. The other buffer was written, so only the one being filled has
 * bytes that are not on the volume yet. */
static int stream_load(struct stream *stream, uint64_t start, uint64_t end, uint8_t *scratch, struct error *err)
{
	const struct stream_buffer *filling = &stream->buffers[stream->filling];
	uint64_t written_to = start < filling->base && filling->base < end ? filling->base : end;
	int r = source_read(stream->setup.source, stream->setup.member, start, scratch, written_to - start, err);

	if (r == 0)
		memcpy(scratch + (written_to - start), filling->bytes, end - written_to);
	return r;
}

int stream_view(struct stream *stream, uint64_t offset, size_t length, uint8_t *scratch, const uint8_t **ret,
		struct error *err)
{
	uint64_t start = round_down(offset, DSFS_BLOCK);
	int r;

	*ret = stream_buffered(&stream->buffers[stream->filling], offset, length);
	if (!*ret)
		*ret = stream_buffered(&stream->buffers[!stream->filling], offset, length);
	if (*ret)
		return 0;
	r = stream_wait(stream, err);
	if (r == 0)
		r = stream_load(stream, start, round_up(offset + length, DSFS_BLOCK), scratch, err);
	if (r == 0)
		*ret = scratch + (offset - start);
	return r;
}

int stream_finish(struct stream *stream, struct error *err)
{
	int r = stream_swap(stream, 0, err);

	return r < 0 ? r : stream_wait(stream, err);
}
