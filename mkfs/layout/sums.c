/* SPDX-License-Identifier: MIT */
/* Fills pages with rows and writes them to the file; the sums of the pages and the bitmap become the head. */
#include "layout/sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/round.h"
#include "image/catalogue/block_sums.h"
#include "image/sums/checksum.h"

int sums_open(struct sums *sums, const struct temp *temp, uint32_t chunk_log, uint32_t kind, struct error *err)
{
	struct sums opened = { .kind = kind, .chunk_log = chunk_log };
	struct block_sums_layout layout;
	int r;

	block_sums_layout(kind, chunk_log, 0, 0, &layout);
	opened.row_bytes = layout.row_bytes;
	r = temp_stream_open(&opened.stream, temp, err);
	if (r < 0)
		return r;
	*sums = opened;
	r = mapped_open(&sums->bits, temp, err);
	return r < 0 ? r : mapped_open(&sums->pages, temp, err);
}

void sums_close(struct sums *sums)
{
	temp_stream_close(&sums->stream);
	mapped_close(&sums->bits);
	mapped_close(&sums->pages);
	*sums = (struct sums){ 0 };
}

static int sums_flush(struct sums *sums, struct error *err)
{
	dsfs_le64 sum;
	int r = 0;

	for (size_t at = 0; r == 0 && at < sums->stream.used; at += DSFS_BLOCK) {
		sum = dsfs_le64_of(checksum_64(sums->stream.buffer + at, DSFS_BLOCK));
		r = mapped_append(&sums->pages, &sum, sizeof(sum), NULL, err);
	}
	return r < 0 ? r : temp_stream_flush(&sums->stream, err);
}

int sums_add(struct sums *sums, uint64_t chunk, const uint8_t *row, uint32_t bytes, struct error *err)
{
	struct temp_stream *stream = &sums->stream;
	int r;

	r = mapped_grow(&sums->bits, chunk / 8 + 1, err);
	if (r < 0)
		return r;
	sums->bits.bytes[chunk / 8] |= (uint8_t)(1u << (chunk % 8));
	sums->rows++;
	memcpy(stream->buffer + stream->used, row, bytes);
	memset(stream->buffer + stream->used + bytes, 0, sums->row_bytes - bytes);
	stream->used += sums->row_bytes;
	return stream->used == TEMP_BUFFER ? sums_flush(sums, err) : 0;
}

#define SUMS_STRIDE 4096u /* chunks: 512 bytes of the bitmap */

static uint64_t sums_count(const uint8_t *bits, uint64_t bytes)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < bytes; i++)
		count += (uint64_t)__builtin_popcount(bits[i]);
	return count;
}

int sums_reader_open(struct sums_reader *reader, struct sums *sums, struct error *err)
{
	uint64_t stride = SUMS_STRIDE / 8, count = sums->bits.length / stride;
	int r = temp_stream_flush(&sums->stream, err);

	if (r < 0)
		return r;
	*reader = (struct sums_reader){ sums, calloc(count + 1, sizeof(*reader->ranks)) };
	if (!reader->ranks)
		return error_no_memory(err);
	for (uint64_t i = 0; i < count; i++)
		reader->ranks[i + 1] = reader->ranks[i] + sums_count(sums->bits.bytes + i * stride, stride);
	return 0;
}

void sums_reader_close(struct sums_reader *reader)
{
	free(reader->ranks);
	*reader = (struct sums_reader){ 0 };
}

int sums_reader_get(const struct sums_reader *reader, uint64_t chunk, uint8_t *row, bool *ret_has,
		    struct error *err)
{
	const struct sums *sums = reader->sums;
	const uint8_t *bits = sums->bits.bytes;
	uint64_t first = chunk / SUMS_STRIDE * (SUMS_STRIDE / 8), number;

	*ret_has = chunk / 8 < sums->bits.length && bits[chunk / 8] >> (chunk % 8) & 1;
	if (!*ret_has)
		return 0;
	number = reader->ranks[chunk / SUMS_STRIDE] + sums_count(bits + first, chunk / 8 - first) +
		 (uint64_t)__builtin_popcount(bits[chunk / 8] & ((1u << chunk % 8) - 1));
	return temp_read(sums->stream.temp, sums->stream.fd, number * sums->row_bytes, row, sums->row_bytes, err);
}

int sums_end(struct sums *sums, uint64_t chunk_count, uint8_t **ret_head, uint64_t *ret_head_length,
	     uint64_t *ret_length, struct error *err)
{
	struct temp_stream *stream = &sums->stream;
	size_t padding = round_up(stream->used, DSFS_BLOCK) - stream->used;
	struct dsfs_fine disk = { .chunk_count = dsfs_le64_of(chunk_count), .row_count = dsfs_le64_of(sums->rows) };
	struct block_sums_layout layout;
	uint8_t *head;
	int r;

	*ret_length = 0;
	if (!sums->rows)
		return 0;
	memset(stream->buffer + stream->used, 0, padding);
	stream->used += padding;
	r = sums_flush(sums, err);
	if (r < 0)
		return r;
	memcpy(disk.magic, DSFS_FINE_MAGIC, sizeof(disk.magic));
	block_sums_layout(sums->kind, sums->chunk_log, chunk_count, sums->rows, &layout);
	head = calloc(1, layout.head);
	if (!head)
		return error_no_memory(err);
	memcpy(head, &disk, sizeof(disk));
	memcpy(head + layout.bits, sums->bits.bytes, sums->bits.length);
	memcpy(head + layout.sums, sums->pages.bytes, sums->pages.length);
	*ret_head = head;
	*ret_head_length = layout.head;
	*ret_length = layout.length;
	return 0;
}
