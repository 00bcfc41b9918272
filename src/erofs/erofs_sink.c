/* SPDX-License-Identifier: MIT */
/* Collects output into writes of 1 MiB. */
#include "erofs/erofs_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/round.h"
#include "base/transfer.h"

#define SINK_ROOM ((size_t)1 << 20)

bool erofs_sink_is_real(const struct erofs_sink *sink)
{
	return sink->fd >= 0 || sink->memory;
}

int erofs_sink_open(int fd, uint64_t start, struct erofs_sink *ret, struct error *err)
{
	*ret = (struct erofs_sink){ .fd = fd, .start = start };
	if (fd < 0)
		return 0;
	ret->buffer = malloc(SINK_ROOM);
	return ret->buffer ? 0 : error_no_memory(err);
}

void erofs_sink_close(struct erofs_sink *sink)
{
	free(sink->buffer);
	sink->buffer = NULL;
}

int erofs_sink_flush(struct erofs_sink *sink, struct error *err)
{
	if (transfer_write_at(sink->fd, sink->buffer, sink->fill, sink->start + sink->at - sink->fill) < 0)
		return error_errno(err, "cannot write the image");
	sink->fill = 0;
	return 0;
}

static void sink_remember(struct erofs_sink *sink, const void *bytes, uint64_t length)
{
	if (sink->memory && bytes)
		memcpy(sink->memory + sink->at, bytes, length);
	else if (sink->memory)
		memset(sink->memory + sink->at, 0, length);
	sink->at += length;
}

int erofs_sink_put(struct erofs_sink *sink, const void *bytes, uint64_t length, struct error *err)
{
	const uint8_t *from = bytes;
	size_t n;
	int r;

	if (sink->fd < 0) {
		sink_remember(sink, bytes, length);
		return 0;
	}
	while (length) {
		n = length < SINK_ROOM - sink->fill ? (size_t)length : SINK_ROOM - sink->fill;
		if (from)
			memcpy(sink->buffer + sink->fill, from, n);
		else
			memset(sink->buffer + sink->fill, 0, n);
		from = from ? from + n : NULL;
		sink->fill += n;
		sink->at += n;
		length -= n;
		r = sink->fill == SINK_ROOM ? erofs_sink_flush(sink, err) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

int erofs_sink_align(struct erofs_sink *sink, uint32_t to, struct error *err)
{
	return erofs_sink_put(sink, NULL, round_up(sink->at, to) - sink->at, err);
}
