/* SPDX-License-Identifier: MIT */
/* What is written to one lane, in order: through two large buffers and a thread, to a member and to those that have the
 * copies. */
#pragma once
#include "output/readback.h"
#include "volume/allocator.h"

#define STREAM_BUFFER_MAX READBACK_MAX

struct stream_setup {
	struct source *source;
	struct allocator *allocator;
	struct readback *readback;
	uint32_t member;    /* that has the lane's data columns */
	size_t buffer_size; /* bytes of one of the two buffers: a power of two, at most STREAM_BUFFER_MAX */
};

struct stream;

must_check int stream_open(const struct stream_setup *setup, struct stream **ret, struct error *err);
void stream_close(struct stream *stream); /* NULL does nothing */

/* Goes on at this offset, which the allocator gave. */
must_check int stream_move(struct stream *stream, uint64_t offset, struct error *err);
/* Writes the next bytes; *ret_offset is where they are. */
must_check int stream_append(struct stream *stream, const void *bytes, size_t length, uint64_t *ret_offset,
			     struct error *err);
/* Bytes that were written before, on the volume or still in a buffer. scratch has room for the whole blocks around
 * them. Valid until the next call. */
must_check int stream_view(struct stream *stream, uint64_t offset, size_t length, uint8_t *scratch,
			   const uint8_t **ret, struct error *err);
/* Returns when everything is with the readback. Only stream_close() may follow. */
must_check int stream_finish(struct stream *stream, struct error *err);
