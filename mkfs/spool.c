/* SPDX-License-Identifier: MIT */
/* Records: 4 bytes of length, then the bytes. */
#include "spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int spool_open(struct spool *spool, const struct temp *temp, struct error *err)
{
	struct spool opened = { .temp = temp };
	int r;

	opened.buffer = malloc(SPOOL_BUFFER);
	if (!opened.buffer)
		return error_set(err, -ENOMEM, "out of memory");
	r = temp_file(temp, &opened.fd, err);
	if (r < 0) {
		free(opened.buffer);
		return r;
	}
	*spool = opened;
	return 0;
}

void spool_close(struct spool *spool)
{
	if (!spool->temp)
		return;
	free(spool->buffer);
	free(spool->record);
	close(spool->fd);
	*spool = (struct spool){ 0 };
}

static int spool_flush(struct spool *spool, struct error *err)
{
	int r = temp_write(spool->temp, spool->fd, spool->written, spool->buffer, spool->used, err);

	if (r < 0)
		return r;
	spool->written += spool->used;
	spool->used = 0;
	return 0;
}

static int spool_put(struct spool *spool, const void *bytes, size_t length, struct error *err)
{
	const uint8_t *from = bytes;
	size_t part;
	int r;

	while (length) {
		if (spool->used == SPOOL_BUFFER) {
			r = spool_flush(spool, err);
			if (r < 0)
				return r;
		}
		part = SPOOL_BUFFER - spool->used < length ? SPOOL_BUFFER - spool->used : length;
		memcpy(spool->buffer + spool->used, from, part);
		spool->used += part;
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

/* Bytes from the file's part or from those not written yet. */
static int spool_get(struct spool *spool, void *bytes, size_t length, struct error *err)
{
	uint64_t in_file = spool->written - (spool->taken < spool->written ? spool->taken : spool->written);
	size_t part = in_file < length ? (size_t)in_file : length;
	int r;

	r = temp_read(spool->temp, spool->fd, spool->taken, bytes, part, err);
	if (r < 0)
		return r;
	if (length > part)
		memcpy((uint8_t *)bytes + part, spool->buffer + (spool->taken + part - spool->written),
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
			return error_set(err, -ENOMEM, "out of memory");
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
