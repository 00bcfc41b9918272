/* SPDX-License-Identifier: MIT */
/* Keeps a stream for each lane, and hands every write to readback.c. */
#include "output/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/round.h"
#include "image/members/address.h"
#include "image/members/members.h"
#include "output/stream.h"

#define WRITER_SCRATCH   ((1u << DSFS_CHUNK_LOG_MAX) + 2 * DSFS_BLOCK)
#define WRITER_BUFFERS   (UINT64_C(128) << 20) /* bytes of the buffers of all streams together */
#define WRITER_BUFFER_MIN (256u << 10)         /* least bytes of a buffer, even if that exceeds the sum */

struct writer {
	struct allocator *allocator;
	struct stream **streams; /* one for each lane */
	uint32_t count;
	struct stream *current;  /* the one with the reserved space */
	uint32_t member;         /* its member */
	struct readback *readback;
	uint8_t *scratch;
};

static size_t writer_buffer_size(uint32_t streams)
{
	size_t size = WRITER_BUFFER;

	while (size > WRITER_BUFFER_MIN && 2 * size * streams > WRITER_BUFFERS)
		size /= 2;
	return size;
}

static int writer_open_streams(struct writer *writer, struct source *source, struct error *err)
{
	uint32_t count = writer->allocator->lane_count;
	struct stream_setup setup = { .source = source,
				      .allocator = writer->allocator,
				      .readback = writer->readback,
				      .buffer_size = writer_buffer_size(count) };
	int r = 0;

	writer->streams = calloc(count, sizeof(struct stream *));
	writer->scratch = aligned_alloc(DSFS_BLOCK, WRITER_SCRATCH);
	if (!writer->streams || !writer->scratch)
		return error_no_memory(err);
	while (r == 0 && writer->count < count) {
		setup.member = writer->count;
		r = stream_open(&setup, &writer->streams[writer->count], err);
		writer->count += r == 0;
	}
	writer->current = writer->streams[0];
	return r;
}

int writer_open(struct source *source, struct allocator *allocator, const struct temp *temp, struct writer **ret,
		struct error *err)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return error_no_memory(err);
	writer->allocator = allocator;
	r = readback_open(source, temp, &writer->readback, err);
	if (r == 0)
		r = writer_open_streams(writer, source, err);
	if (r < 0) {
		writer_close(writer);
		return r;
	}
	*ret = writer;
	return 0;
}

void writer_close(struct writer *writer)
{
	if (!writer)
		return;
	for (uint32_t i = 0; i < writer->count; i++)
		stream_close(writer->streams[i]);
	free(writer->streams);
	free(writer->scratch);
	readback_close(writer->readback);
	free(writer);
}

int writer_reserve(struct writer *writer, uint64_t length, enum space_align align, struct error *err)
{
	uint64_t address;

	if (!allocator_take(writer->allocator, length, align, &address))
		return allocator_full_piece(writer->allocator, length, err);
	writer->member = address_member(address);
	writer->current = writer->streams[writer->member];
	return stream_move(writer->current, address_offset(address), err);
}

int writer_reserve_anywhere(struct writer *writer, uint64_t length, enum space_align align, struct error *err)
{
	allocator_choose(writer->allocator, length);
	return writer_reserve(writer, length, align, err);
}

uint64_t writer_piece(const struct writer *writer)
{
	return writer->allocator->members ? writer->allocator->segment : SPACE_ENDLESS;
}

bool writer_is_spread(const struct writer *writer)
{
	return writer->count > 1;
}

int writer_append(struct writer *writer, const void *bytes, size_t length, uint64_t *ret_address, struct error *err)
{
	uint64_t offset;
	int r = stream_append(writer->current, bytes, length, &offset, err);

	if (ret_address)
		*ret_address = address_make(writer->member, offset);
	return r;
}

/* Returns where to read bytes of an older version; only a copy may be present. */
static uint64_t writer_copy(const struct writer *writer, uint64_t address)
{
	uint64_t copies[DSFS_COPIES_MAX] = { address };

	if (writer->allocator->members)
		(void)members_copies(writer->allocator->members, address, copies);
	return copies[0];
}

int writer_view(struct writer *writer, uint64_t address, size_t length, const uint8_t **ret, struct error *err)
{
	uint64_t copy = writer_copy(writer, address), offset = address_offset(copy);

	if (round_up(offset + length, DSFS_BLOCK) - round_down(offset, DSFS_BLOCK) > WRITER_SCRATCH)
		return error_set(err, -EBADMSG, "%zu bytes to compare, expected at most %u", length,
				 1u << DSFS_CHUNK_LOG_MAX);
	return stream_view(writer->streams[address_member(copy)], offset, length, writer->scratch, ret, err);
}

int writer_finish(struct writer *writer, struct progress *progress, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < writer->count; i++)
		r = stream_finish(writer->streams[i], err);
	return r < 0 ? r : readback_finish(writer->readback, progress, err);
}
