/* SPDX-License-Identifier: MIT */
/* Stores each record as 4 bytes of length, then its bytes. */
#include "spill/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int spool_open(struct spool *spool, const struct temp *temp, struct error *err)
{
	struct spool opened = { 0 };
	int r = temp_stream_open(&opened.stream, temp, err);

	if (r == 0)
		*spool = opened;
	return r;
}

void spool_close(struct spool *spool)
{
	temp_stream_close(&spool->stream);
	free(spool->record);
	*spool = (struct spool){ 0 };
}

static int spool_put(struct spool *spool, const void *bytes, size_t length, struct error *err)
{
	struct temp_stream *stream = &spool->stream;
	const uint8_t *from = bytes;
	size_t part;
	int r;

	while (length) {
		if (stream->used == TEMP_BUFFER) {
			r = temp_stream_flush(stream, err);
			if (r < 0)
				return r;
		}
		part = TEMP_BUFFER - stream->used < length ? TEMP_BUFFER - stream->used : length;
		memcpy(stream->buffer + stream->used, from, part);
		stream->used += part;
		from += part;
		length -= part;
	}
	return 0;
}

int spool_push(struct spool *spool, const void *head, size_t head_length, const void *bytes, size_t length,
	       struct error *err)
{
	uint32_t total = (uint32_t)(head_length + length);
	int r;

	r = spool_put(spool, &total, sizeof(total), err);
	if (r == 0)
		r = spool_put(spool, head, head_length, err);
	if (r == 0)
		r = spool_put(spool, bytes, length, err);
	if (r == 0)
		spool->records++;
	return r;
}

/* Takes bytes from the file, then from the buffer that is not written yet. */
static int spool_get(struct spool *spool, void *bytes, size_t length, struct error *err)
{
	const struct temp_stream *stream = &spool->stream;
	uint64_t in_file = stream->written - (spool->taken < stream->written ? spool->taken : stream->written);
	size_t part = in_file < length ? (size_t)in_file : length;
	int r;

	r = temp_read(stream->temp, stream->fd, spool->taken, bytes, part, err);
	if (r < 0)
		return r;
	if (length > part)
		memcpy((uint8_t *)bytes + part, stream->buffer + (spool->taken + part - stream->written),
		       length - part);
	spool->taken += length;
	return 0;
}

int spool_pop(struct spool *spool, const void **ret, size_t *ret_length, struct error *err)
{
	uint32_t length;
	int r;

	if (!spool->records)
		return 0;
	r = spool_get(spool, &length, sizeof(length), err);
	if (r < 0)
		return r;
	if ((size_t)length + 1 > spool->room) {
		uint8_t *record = realloc(spool->record, (size_t)length + 1);

		if (!record)
			return error_no_memory(err);
		spool->record = record;
		spool->room = (size_t)length + 1;
	}
	r = spool_get(spool, spool->record, length, err);
	if (r < 0)
		return r;
	spool->record[length] = 0;
	spool->records--;
	*ret = spool->record;
	*ret_length = length;
	return 1;
}
