/* SPDX-License-Identifier: MIT */
/* Puts contents into buckets in temporary files, each bucket a range of keys. In the end one bucket after the other is
 * read from end to end, so a random order takes no random reads. */
#include "layout/scatter.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge.h"
#include "base/program/interrupt.h"
#include "image/chunk.h"
#include "image/members/address.h"
#include "image/places.h"

#define SCATTER_BITS   7u           /* of a key: the number of its bucket */
#define SCATTER_ROOM   (32u << 20)  /* bytes of the largest bucket that is read as a whole */
#define SCATTER_BUDGET (16u << 20)  /* of each sorter */

_Static_assert(SCATTER_BUCKETS == 1u << SCATTER_BITS, "every number has a bucket");
_Static_assert(SCATTER_ROOM >= BATCH_BYTES && BATCH_CHUNKS <= UINT16_MAX, "a small file fits");

/* Records of the sorters, which compare bytes: what decides the order stands first, big-endian. */
struct scatter_file {
	uint64_t key;
	uint64_t record; /* that of its first chunk */
	uint64_t offset; /* in the bucket */
	uint32_t bytes;
	uint16_t count; /* of its chunks */
	uint16_t align;
};

struct scatter_place {
	uint64_t record;
	uint64_t address;
	uint64_t count;
};

static int scatter_open_buckets(struct scatter *scatter, struct error *err)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < SCATTER_BUCKETS; i++)
		r = temp_stream_open(&scatter->buckets[i], scatter->temp, err);
	return r;
}

int scatter_open(const struct temp *temp, uint64_t seed, struct scatter **ret, struct error *err)
{
	struct scatter *scatter = calloc(1, sizeof(*scatter));
	int r;

	if (!scatter)
		return error_no_memory(err);
	scatter->temp = temp;
	scatter->seed = seed;
	scatter->buffer = huge_alloc(SCATTER_ROOM);
	r = scatter->buffer ? scatter_open_buckets(scatter, err) : error_no_memory(err);
	if (r == 0)
		r = sorter_open(temp, SCATTER_BUDGET, &scatter->files, err);
	if (r == 0)
		r = sorter_open(temp, SCATTER_BUDGET, &scatter->placed, err);
	if (r < 0) {
		scatter_close(scatter);
		return r;
	}
	*ret = scatter;
	return 0;
}

void scatter_close(struct scatter *scatter)
{
	if (!scatter)
		return;
	for (unsigned i = 0; i < SCATTER_BUCKETS; i++)
		temp_stream_close(&scatter->buckets[i]);
	sorter_free(scatter->files);
	sorter_free(scatter->placed);
	free(scatter->buffer);
	free(scatter);
}

static unsigned scatter_bucket(uint64_t key)
{
	return (unsigned)(key >> (64 - SCATTER_BITS));
}

static uint64_t scatter_length(const struct temp_stream *bucket)
{
	return bucket->written + bucket->used;
}

/* --- contents come --- */

int scatter_begin(struct scatter *scatter, const struct item *item, uint64_t record, uint64_t bytes,
		  enum space_align align, struct error *err)
{
	uint64_t key = places_key(scatter->seed, item->ordinal);
	struct scatter_file file = { .key = htobe64(key),
				     .record = htobe64(record),
				     .bytes = (uint32_t)bytes,
				     .count = (uint16_t)item->result.chunk_count,
				     .align = (uint16_t)align };

	scatter->current = scatter_bucket(key);
	scatter->bytes += bytes;
	file.offset = scatter_length(&scatter->buckets[scatter->current]);
	return sorter_add(scatter->files, &file, sizeof(file), NULL, 0, err);
}

int scatter_put(struct scatter *scatter, const struct batch_chunk *chunk, uint64_t *ret_address, struct error *err)
{
	struct temp_stream *bucket = &scatter->buckets[scatter->current];

	*ret_address = address_make(scatter->current, SCATTER_WAITING | scatter_length(bucket));
	return temp_stream_put(bucket, chunk->bytes, chunk->stored, err);
}

int scatter_view(struct scatter *scatter, uint64_t address, size_t length, const uint8_t **ret, struct error *err)
{
	uint64_t offset = address_offset(address) & ~SCATTER_WAITING;
	int r = temp_stream_get(&scatter->buckets[address_member(address)], offset, scatter->buffer, length, err);

	if (r == 0)
		*ret = scatter->buffer;
	return r;
}

/* --- contents go --- */

/* A bucket while it is stored. */
struct scatter_load {
	struct scatter *scatter;
	unsigned number;
	bool is_whole; /* the buffer has all of it */
};

/* Goes on to another bucket. The files of one that is larger than the buffer are read one by one, but the kernel is
 * asked for all of it. */
static int scatter_load(struct scatter_load *load, unsigned number, struct error *err)
{
	struct temp_stream *bucket = &load->scatter->buckets[number];
	uint64_t length = scatter_length(bucket);

	if (load->number < SCATTER_BUCKETS)
		temp_stream_close(&load->scatter->buckets[load->number]);
	load->number = number;
	load->is_whole = length <= SCATTER_ROOM;
	if (load->is_whole)
		return temp_stream_get(bucket, 0, load->scatter->buffer, length, err);
	(void)posix_fadvise(bucket->fd, 0, 0, POSIX_FADV_WILLNEED);
	return 0;
}

static int scatter_bytes(struct scatter_load *load, const struct scatter_file *file, const uint8_t **ret,
			 struct error *err)
{
	unsigned number = scatter_bucket(be64toh(file->key));
	uint8_t *buffer = load->scatter->buffer;
	int r = number == load->number ? 0 : scatter_load(load, number, err);

	if (r == 0 && !load->is_whole)
		r = temp_stream_get(&load->scatter->buckets[number], file->offset, buffer, file->bytes, err);
	*ret = load->is_whole ? buffer + file->offset : buffer;
	return r;
}

static int scatter_store(struct scatter_load *load, const struct scatter_file *file, struct writer *writer,
			 struct error *err)
{
	struct scatter_place place = { .record = file->record, .count = file->count };
	const uint8_t *bytes;
	int r = scatter_bytes(load, file, &bytes, err);

	if (r == 0)
		r = writer_reserve_anywhere(writer, file->bytes, (enum space_align)file->align, err);
	if (r == 0)
		r = writer_append(writer, bytes, file->bytes, &place.address, err);
	return r < 0 ? r : sorter_add(load->scatter->placed, &place, sizeof(place), NULL, 0, err);
}

static int scatter_store_all(struct scatter *scatter, struct writer *writer, struct progress *progress,
			     struct error *err)
{
	struct scatter_load load = { .scatter = scatter, .number = SCATTER_BUCKETS };
	struct scatter_file file;
	const void *bytes;
	size_t length;
	int r = sorter_rewind(scatter->files, err);

	while (r == 0 && (r = sorter_next(scatter->files, &bytes, &length, err)) > 0) {
		memcpy(&file, bytes, sizeof(file));
		r = scatter_store(&load, &file, writer, err);
		progress_add(progress, 0, file.bytes);
		if (r == 0)
			r = interrupt_check(err);
	}
	return r;
}

/* Sets the addresses of a file's chunks, which lie one behind the other. */
static void scatter_set(struct records *records, const struct scatter_place *place)
{
	uint32_t sums = records->sums.kind, size = index_record_size(sums);
	uint8_t *first = records->chunks.bytes + be64toh(place->record) * size;
	uint64_t address = place->address;
	struct chunk chunk;

	for (uint64_t i = 0; i < place->count; i++) {
		struct dsfs_chunk *record = (struct dsfs_chunk *)(first + i * size);

		chunk = chunk_of_record(sums, record);
		if (chunk_is_hole(&chunk))
			continue;
		record->address = dsfs_le64_of(address);
		address += chunk.stored;
	}
}

static int scatter_set_all(struct scatter *scatter, struct records *records, struct error *err)
{
	struct scatter_place place;
	const void *bytes;
	size_t length;
	int r = sorter_rewind(scatter->placed, err);

	while (r == 0 && (r = sorter_next(scatter->placed, &bytes, &length, err)) > 0) {
		memcpy(&place, bytes, sizeof(place));
		scatter_set(records, &place);
		r = interrupt_check(err);
	}
	return r;
}

int scatter_finish(struct scatter *scatter, struct writer *writer, struct records *records, struct progress *progress,
		   struct error *err)
{
	int r;

	progress_phase(progress, "placing", scatter->bytes);
	r = scatter_store_all(scatter, writer, progress, err);
	return r < 0 ? r : scatter_set_all(scatter, records, err);
}
