/* SPDX-License-Identifier: MIT */
/* Writes one lane in order, through two large buffers and a thread, to a member and to the members that have its
 * copies. */
#pragma once
#include "output/readback.h"
#include "volume/space/allocator.h"

#define STREAM_BUFFER_MAX READBACK_MAX

struct stream_setup {
	struct source *source;
	struct allocator *allocator;
	struct readback *readback;
	uint32_t member;    /* the member with the lane's data columns */
	size_t buffer_size; /* bytes of one of the two buffers: a power of two, at most STREAM_BUFFER_MAX */
};

struct stream;

must_check int stream_open(const struct stream_setup *setup, struct stream **ret, struct error *err);
void stream_close(struct stream *stream); /* NULL does nothing */

/* Continues at this offset, which the allocator gave. */
must_check int stream_move(struct stream *stream, uint64_t offset, struct error *err);
/* Writes the next bytes. *ret_offset: their offset on the member. */
must_check int stream_append(struct stream *stream, const void *bytes, size_t length, uint64_t *ret_offset,
			     struct error *err);
/* Sets *ret to bytes that were written before, on the volume or still in a buffer; valid until the next call. scratch
 * has room for the whole blocks around them. */
must_check int stream_view(struct stream *stream, uint64_t offset, size_t length, uint8_t *scratch,
			   const uint8_t **ret, struct error *err);
/* Writes the rest, and returns when the readback has every write. Only stream_close() may follow. */
must_check int stream_finish(struct stream *stream, struct error *err);
