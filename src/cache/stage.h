/* SPDX-License-Identifier: MIT */
/* Chunks on their way into a cache. Readers copy them into buffers, which are images of slots, and go on; one thread
 * writes them. When all buffers are full, chunks are refused: no reader ever waits for a cache. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/error.h"
#include "cache/slots.h"

#define STAGE_BUFFERS 4u    /* of SLOTS_SIZE bytes each: 16 MiB */
#define STAGE_SPARE   2u    /* buffers that are empty if stage_has_room() */
#define STAGE_CHUNKS  4096u /* of a buffer */
#define STAGE_BLOCK   4096u /* a chunk lies as far behind one of these as on the volume */

struct stage_chunk {
	uint64_t key;
	uint32_t at; /* offset in the slot */
};

struct stage_buffer {
	uint8_t *bytes;
	uint32_t used;         /* bytes, where the next chunk may begin */
	unsigned count;        /* of chunks */
	uint32_t taken;        /* bytes and chunks of it that the writer has had */
	unsigned taken_chunks;
	_Atomic unsigned copying; /* chunks that readers are copying just now */
	struct stage_chunk chunks[STAGE_CHUNKS];
};

struct stage {
	pthread_mutex_t lock; /* protects all but the bytes, loads of atomic fields, and the end of a copy */
	pthread_cond_t ready; /* a buffer is full, or may be taken; or the stage is closed */
	struct stage_buffer buffers[STAGE_BUFFERS];
	unsigned first; /* the oldest buffer that is not written, modulo the number */
	_Atomic unsigned last; /* the one that is filled */
	_Atomic uint64_t added, settled; /* chunks that readers have brought, and that the writer is done with */
	uint8_t *memory;
	bool is_closed; /* the writer should end */
};

must_check int stage_new(struct stage **ret, struct error *err);
/* stage may be NULL. */
void stage_free(struct stage *stage);

/* Copies the stored bytes of a chunk, which lies in parts, phase bytes behind a block. False: there is no room. Any
 * thread may call it. */
bool stage_add(struct stage *stage, uint64_t key, uint32_t phase, const struct iovec *parts, int count);

/* Whether STAGE_SPARE buffers are empty, beside the one that is filled. Any thread may call it. */
bool stage_has_room(struct stage *stage);

/* Returns how many chunks were added. Any thread may call it, and stage_settled(). */
static inline uint64_t stage_added(const struct stage *stage)
{
	return atomic_load(&stage->added);
}

/* Returns of how many of them, in the same order, nothing is left to do. */
static inline uint64_t stage_settled(const struct stage *stage)
{
	return atomic_load(&stage->settled);
}

/* A part that is to be written. */
struct stage_part {
	const struct stage_buffer *buffer;
	uint32_t from, to; /* bytes of the slot, whole blocks */
	const struct stage_chunk *chunks;
	unsigned count;
	bool is_first; /* nothing of the buffer was written before */
	bool is_last;  /* nothing comes behind it: the buffer is full */
};

/* The writer's: waits for ns at most until a buffer is full, and then takes the filled part of one that is not. False:
 * nothing is there. */
bool stage_take(struct stage *stage, int64_t limit, struct stage_part *ret);
/* The writer is done with the part. */
void stage_done(struct stage *stage, const struct stage_part *part);
/* Ends the writer's wait; stage_take() does not wait any more, and stage_is_closed() is true. */
void stage_close(struct stage *stage);
bool stage_is_closed(struct stage *stage);
