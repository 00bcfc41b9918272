/* SPDX-License-Identifier: MIT */
/* Two buffers: one is filled while a thread writes the other. Then readback.c checks what was written. */
#include "output/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "image/address.h"
#include "output/readback.h"

#define WRITER_SCRATCH ((1u << DSFS_CHUNK_LOG_MAX) + 2 * DSFS_BLOCK)

_Static_assert(WRITER_BUFFER <= READBACK_MAX, "a buffer is read back whole");

struct writer_buffer {
	uint8_t *bytes;
	uint64_t base; /* offset on the volume, a multiple of a block */
	size_t used;
};

struct writer {
	struct source *source;
	struct space *space;
	struct writer_buffer buffers[2];
	unsigned filling; /* the buffer being filled; the other one is being written, or idle */
	uint64_t at;      /* offset of the next byte */
	uint64_t inside;  /* offset of the next byte while padding of the buffer being filled is used; 0: at counts */
	uint8_t *scratch;
	struct readback *readback;

	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool busy, stop; /* busy: the thread is writing the other buffer */
	int result;      /* its first failure, with error */
	struct error error;
};

static int writer_flush_buffer(struct writer *writer, struct writer_buffer *buffer, struct error *err)
{
	struct error why = { 0 };
	int r;

	r = source_write(writer->source, 0, buffer->base, buffer->bytes, buffer->used, &why);
	if (r == -ENOSPC)
		return error_set(err, r, "volume is full: needs at least %zu more bytes", buffer->used);
	if (r < 0)
		return error_pass(err, r, &why);
	return readback_add(writer->readback, buffer->base, buffer->bytes, buffer->used, err);
}

static void *writer_run(void *argument)
{
	struct writer *writer = argument;
	struct error why = { 0 };
	int r;

	pthread_mutex_lock(&writer->mutex);
	for (;;) {
		while (!writer->busy && !writer->stop)
			pthread_cond_wait(&writer->changed, &writer->mutex);
		if (!writer->busy)
			break;
		pthread_mutex_unlock(&writer->mutex);
		r = writer_flush_buffer(writer, &writer->buffers[!writer->filling], &why);
		pthread_mutex_lock(&writer->mutex);
		if (r < 0 && !writer->result) {
			writer->result = r;
			writer->error = why;
		}
		writer->busy = false;
		pthread_cond_signal(&writer->changed);
	}
	pthread_mutex_unlock(&writer->mutex);
	return NULL;
}

static int writer_alloc(struct writer *writer, const struct temp *temp, struct error *err)
{
	writer->buffers[0].bytes = huge_alloc(WRITER_BUFFER);
	writer->buffers[1].bytes = huge_alloc(WRITER_BUFFER);
	writer->scratch = aligned_alloc(DSFS_BLOCK, WRITER_SCRATCH);
	if (!writer->buffers[0].bytes || !writer->buffers[1].bytes || !writer->scratch)
		return error_set(err, -ENOMEM, "out of memory");
	return readback_open(writer->source, temp, &writer->readback, err);
}

static void writer_free(struct writer *writer)
{
	free(writer->buffers[0].bytes);
	free(writer->buffers[1].bytes);
	free(writer->scratch);
	readback_close(writer->readback);
	free(writer);
}

int writer_open(struct source *source, struct space *space, const struct temp *temp, struct writer **ret,
		struct error *err)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return error_set(err, -ENOMEM, "out of memory");
	writer->source = source;
	writer->space = space;
	r = writer_alloc(writer, temp, err);
	if (r < 0) {
		writer_free(writer);
		return r;
	}
	pthread_mutex_init(&writer->mutex, NULL);
	pthread_cond_init(&writer->changed, NULL);
	r = pthread_create(&writer->thread, NULL, writer_run, writer);
	if (r) {
		writer_free(writer);
		return error_set(err, -r, "cannot start a thread: %s", strerror(r));
	}
	*ret = writer;
	return 0;
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->mutex);
	writer->stop = true;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->mutex);
	pthread_join(writer->thread, NULL);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->mutex);
	writer_free(writer);
}

static int writer_wait(struct writer *writer, struct error *err)
{
	int r;

	pthread_mutex_lock(&writer->mutex);
	while (writer->busy)
		pthread_cond_wait(&writer->changed, &writer->mutex);
	r = writer->result;
	pthread_mutex_unlock(&writer->mutex);
	return r < 0 ? error_pass(err, r, &writer->error) : 0;
}

/* Pads the buffer to a whole block and hands it to the thread; the other one is then filled, starting at base. */
static int writer_swap(struct writer *writer, uint64_t base, struct error *err)
{
	struct writer_buffer *full = &writer->buffers[writer->filling];
	size_t padding = (DSFS_BLOCK - full->used % DSFS_BLOCK) % DSFS_BLOCK;
	int r;

	r = writer_wait(writer, err);
	if (r < 0)
		return r;
	space_forget_gaps(writer->space);
	memset(full->bytes + full->used, 0, padding);
	full->used += padding;
	pthread_mutex_lock(&writer->mutex);
	writer->busy = full->used > 0;
	writer->filling = !writer->filling;
	writer->buffers[writer->filling].base = base;
	writer->buffers[writer->filling].used = 0;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->mutex);
	return 0;
}

/* Writes end at multiples of WRITER_BUFFER, so a drive with large pages must read and modify only at the ends. */
static size_t writer_room(const struct writer_buffer *buffer)
{
	return WRITER_BUFFER - buffer->base % WRITER_BUFFER;
}

static int writer_put(struct writer *writer, const uint8_t *bytes, size_t length, struct error *err)
{
	struct writer_buffer *buffer = &writer->buffers[writer->filling];
	size_t part;
	int r;

	while (length) {
		if (buffer->used == writer_room(buffer)) {
			r = writer_swap(writer, buffer->base + buffer->used, err);
			if (r < 0)
				return r;
			buffer = &writer->buffers[writer->filling];
		}
		part = writer_room(buffer) - buffer->used;
		part = part < length ? part : length;
		if (bytes) {
			memcpy(buffer->bytes + buffer->used, bytes, part);
			bytes += part;
		} else {
			memset(buffer->bytes + buffer->used, 0, part);
		}
		buffer->used += part;
		length -= part;
		writer->at += part;
	}
	return 0;
}

/* Padding inside a contiguous extent is zeros, and can be used as long as its buffer is being filled. Another extent
 * starts with a new buffer. */
static int writer_move(struct writer *writer, uint64_t offset, struct error *err)
{
	int r;

	writer->inside = 0;
	if (offset == writer->at)
		return 0;
	if (offset >= writer->buffers[writer->filling].base && offset < writer->at) {
		writer->inside = offset;
		return 0;
	}
	if (writer->at && offset > writer->at && offset - writer->at < DSFS_BLOCK)
		return writer_put(writer, NULL, offset - writer->at, err);
	r = writer_swap(writer, offset, err);
	if (r == 0)
		writer->at = offset;
	return r;
}

int writer_reserve(struct writer *writer, uint64_t length, enum space_align align, struct error *err)
{
	uint64_t offset;

	if (!space_take(writer->space, length, align, &offset))
		return error_set(err, -ENOSPC, "volume is full: needs at least %" PRIu64 " more bytes in one piece",
				 length);
	return writer_move(writer, offset, err);
}

static void writer_fill(struct writer *writer, const void *bytes, size_t length)
{
	const struct writer_buffer *buffer = &writer->buffers[writer->filling];

	memcpy(buffer->bytes + (writer->inside - buffer->base), bytes, length);
	writer->inside += length;
}

int writer_append(struct writer *writer, const void *bytes, size_t length, uint64_t *ret_address, struct error *err)
{
	if (ret_address)
		*ret_address = address_make(0, writer->inside ? writer->inside : writer->at);
	if (!writer->inside)
		return writer_put(writer, bytes, length, err);
	writer_fill(writer, bytes, length);
	return 0;
}

/* Bytes in a buffer, which do not change meanwhile; NULL if it does not have all of them. */
static const uint8_t *writer_buffered(const struct writer_buffer *buffer, uint64_t offset, size_t length)
{
	if (offset < buffer->base || offset + length > buffer->base + buffer->used)
		return NULL;
	return buffer->bytes + (offset - buffer->base);
}

/* Loads the blocks from start to end into scratch. The other buffer was written, so only the one being filled has
 * bytes that are not on the volume yet. */
static int writer_load(struct writer *writer, uint64_t start, uint64_t end, struct error *err)
{
	const struct writer_buffer *filling = &writer->buffers[writer->filling];
	uint64_t written_to = start < filling->base && filling->base < end ? filling->base : end;
	int r = source_read(writer->source, 0, start, writer->scratch, written_to - start, err);

	if (r == 0)
		memcpy(writer->scratch + (written_to - start), filling->bytes, end - written_to);
	return r;
}

int writer_view(struct writer *writer, uint64_t address, size_t length, const uint8_t **ret, struct error *err)
{
	uint64_t offset = address_offset(address), start = round_down(offset, DSFS_BLOCK);
	uint64_t end = round_up(offset + length, DSFS_BLOCK);
	int r;

	if (end - start > WRITER_SCRATCH)
		return error_set(err, -EBADMSG, "%zu bytes to compare, expected at most %u", length,
				 1u << DSFS_CHUNK_LOG_MAX);
	*ret = writer_buffered(&writer->buffers[writer->filling], offset, length);
	if (!*ret)
		*ret = writer_buffered(&writer->buffers[!writer->filling], offset, length);
	if (*ret)
		return 0;
	r = writer_wait(writer, err);
	if (r == 0)
		r = writer_load(writer, start, end, err);
	if (r == 0)
		*ret = writer->scratch + (offset - start);
	return r;
}

int writer_finish(struct writer *writer, struct progress *progress, struct error *err)
{
	int r;

	r = writer_swap(writer, 0, err);
	if (r == 0)
		r = writer_wait(writer, err);
	return r < 0 ? r : readback_finish(writer->readback, progress, err);
}
