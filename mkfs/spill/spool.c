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

int spool_push(struct spool *spool, const void *head, size_t head_length, const void *bytes, size_t length,
	       struct error *err)
{
	uint32_t total = (uint32_t)(head_length + length);
	int r;

	r = temp_stream_put(&spool->stream, &total, sizeof(total), err);
	if (r == 0)
		r = temp_stream_put(&spool->stream, head, head_length, err);
	if (r == 0)
		r = temp_stream_put(&spool->stream, bytes, length, err);
	if (r == 0)
		spool->records++;
	return r;
}

static int spool_take(struct spool *spool, void *bytes, size_t length, struct error *err)
{
	int r = temp_stream_get(&spool->stream, spool->taken, bytes, length, err);

	spool->taken += r == 0 ? length : 0;
	return r;
}

int spool_pop(struct spool *spool, const void **ret, size_t *ret_length, struct error *err)
{
	uint32_t length;
	int r;

	if (!spool->records)
		return 0;
	r = spool_take(spool, &length, sizeof(length), err);
	if (r < 0)
		return r;
	if ((size_t)length + 1 > spool->room) {
		uint8_t *record = realloc(spool->record, (size_t)length + 1);

		if (!record)
			return error_no_memory(err);
		spool->record = record;
		spool->room = (size_t)length + 1;
	}
	r = spool_take(spool, spool->record, length, err);
	if (r < 0)
		return r;
	spool->record[length] = 0;
	spool->records--;
	*ret = spool->record;
	*ret_length = length;
	return 1;
}
