/* SPDX-License-Identifier: MIT */
/* Keeps the buffers in a ring: full ones, oldest first, and behind them the one that is filled. */
#include "cache/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/huge.h"
#include "base/round.h"

int stage_new(struct stage **ret, struct error *err)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	pthread_condattr_t clock;

	if (!stage)
		return error_no_memory(err);
	stage->memory = huge_alloc((size_t)STAGE_BUFFERS * SLOTS_SIZE);
	if (!stage->memory) {
		free(stage);
		return error_no_memory(err);
	}
	for (unsigned i = 0; i < STAGE_BUFFERS; i++)
		stage->buffers[i].bytes = stage->memory + (size_t)i * SLOTS_SIZE;
	pthread_mutex_init(&stage->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&stage->ready, &clock);
	pthread_condattr_destroy(&clock);
	*ret = stage;
	return 0;
}

void stage_free(struct stage *stage)
{
	if (!stage)
		return;
	pthread_cond_destroy(&stage->ready);
	pthread_mutex_destroy(&stage->lock);
	free(stage->memory);
	free(stage);
}

static struct stage_buffer *stage_at(struct stage *stage, unsigned number)
{
	return &stage->buffers[number % STAGE_BUFFERS];
}

/* ---- readers ---- */

/* Where a chunk goes: behind the last one, and as far behind a block as on the volume. */
static uint32_t stage_place(const struct stage_buffer *buffer, uint32_t phase)
{
	return buffer->used + (phase - buffer->used) % STAGE_BLOCK;
}

static bool stage_fits(const struct stage_buffer *buffer, uint32_t phase, size_t bytes)
{
	return buffer->count < STAGE_CHUNKS && stage_place(buffer, phase) + bytes <= SLOTS_SIZE;
}

/* Returns the buffer that has room; NULL: none has. Holds the lock. */
static struct stage_buffer *stage_room(struct stage *stage, uint32_t phase, size_t bytes)
{
	struct stage_buffer *buffer = stage_at(stage, stage->last);

	if (stage_fits(buffer, phase, bytes))
		return buffer;
	if (!buffer->count || stage->last + 1 - stage->first == STAGE_BUFFERS)
		return NULL;
	stage->last++;
	pthread_cond_signal(&stage->ready);
	return stage_at(stage, stage->last);
}

/* Reserves room in a buffer. */
static struct stage_buffer *stage_begin(struct stage *stage, uint64_t key, uint32_t phase, size_t bytes,
					uint32_t *ret_at)
{
	struct stage_buffer *buffer;

	pthread_mutex_lock(&stage->lock);
	buffer = stage_room(stage, phase, bytes);
	if (buffer) {
		*ret_at = stage_place(buffer, phase);
		buffer->chunks[buffer->count++] = (struct stage_chunk){ key, *ret_at };
		buffer->used = *ret_at + (uint32_t)bytes;
		buffer->copying++;
		stage->added++;
	}
	pthread_mutex_unlock(&stage->lock);
	return buffer;
}

/* Wakes the writer only for a full buffer: it looks at the one that is filled when its time is over. */
static void stage_end(struct stage *stage, struct stage_buffer *buffer)
{
	if (atomic_fetch_sub(&buffer->copying, 1) != 1 || buffer == stage_at(stage, atomic_load(&stage->last)))
		return;
	pthread_mutex_lock(&stage->lock);
	pthread_cond_signal(&stage->ready);
	pthread_mutex_unlock(&stage->lock);
}

bool stage_add(struct stage *stage, uint64_t key, uint32_t phase, const struct iovec *parts, int count)
{
	struct stage_buffer *buffer;
	size_t bytes = 0;
	uint32_t at = 0;

	for (int i = 0; i < count; i++)
		bytes += parts[i].iov_len;
	buffer = stage_begin(stage, key, phase, bytes, &at);
	if (!buffer)
		return false;
	for (int i = 0; i < count; i++) {
		memcpy(buffer->bytes + at, parts[i].iov_base, parts[i].iov_len);
		at += (uint32_t)parts[i].iov_len;
	}
	stage_end(stage, buffer);
	return true;
}

bool stage_has_room(struct stage *stage)
{
	bool has_room;

	pthread_mutex_lock(&stage->lock);
	has_room = stage->last + 1 - stage->first + STAGE_SPARE <= STAGE_BUFFERS;
	pthread_mutex_unlock(&stage->lock);
	return has_room;
}

/* ---- the writer ---- */

static bool stage_is_full(const struct stage *stage)
{
	return stage->first != stage->last;
}

/* True: the oldest buffer has something that the writer has not had, and no reader copies into it. */
static bool stage_has_part(struct stage *stage)
{
	const struct stage_buffer *buffer = stage_at(stage, stage->first);

	return !buffer->copying && (stage_is_full(stage) || buffer->count > buffer->taken_chunks);
}

/* Waits until the oldest buffer is full and no copy into it is under way, or the time is over. */
static void stage_wait(struct stage *stage, int64_t limit)
{
	int64_t until = clock_now() + limit;
	struct timespec end = { .tv_sec = until / 1000000000, .tv_nsec = until % 1000000000 };
	int r = 0;

	while (r == 0 && !stage->is_closed && !(stage_is_full(stage) && stage_has_part(stage)))
		r = pthread_cond_timedwait(&stage->ready, &stage->lock, &end);
}

/* The next part begins with a block: nothing is written twice. */
static void stage_cut(struct stage *stage, struct stage_part *ret)
{
	struct stage_buffer *buffer = stage_at(stage, stage->first);
	uint32_t to = (uint32_t)round_up(buffer->used, STAGE_BLOCK);

	*ret = (struct stage_part){ .buffer = buffer, .from = buffer->taken, .to = to,
				    .chunks = buffer->chunks + buffer->taken_chunks,
				    .count = buffer->count - buffer->taken_chunks,
				    .is_first = !buffer->taken_chunks, .is_last = stage_is_full(stage) };
	buffer->used = buffer->taken = to;
	buffer->taken_chunks = buffer->count;
}

bool stage_take(struct stage *stage, int64_t limit, struct stage_part *ret)
{
	bool is_there;

	pthread_mutex_lock(&stage->lock);
	stage_wait(stage, limit);
	is_there = stage_has_part(stage);
	if (is_there)
		stage_cut(stage, ret);
	pthread_mutex_unlock(&stage->lock);
	return is_there;
}

void stage_done(struct stage *stage, const struct stage_part *part)
{
	struct stage_buffer *buffer;

	pthread_mutex_lock(&stage->lock);
	stage->settled += part->count;
	if (part->is_last) {
		buffer = stage_at(stage, stage->first);
		buffer->used = buffer->taken = 0;
		buffer->count = buffer->taken_chunks = 0;
		stage->first++;
	}
	pthread_mutex_unlock(&stage->lock);
}

void stage_close(struct stage *stage)
{
	pthread_mutex_lock(&stage->lock);
	stage->is_closed = true;
	pthread_cond_signal(&stage->ready);
	pthread_mutex_unlock(&stage->lock);
}

bool stage_is_closed(struct stage *stage)
{
	bool is_closed;

	pthread_mutex_lock(&stage->lock);
	is_closed = stage->is_closed;
	pthread_mutex_unlock(&stage->lock);
	return is_closed;
}
