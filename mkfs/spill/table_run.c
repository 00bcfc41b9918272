/* SPDX-License-Identifier: MIT */
/* Writes and merges runs through buffers, so only look-ups cause random access. */
#include "spill/table_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/program/interrupt.h"

#define TABLE_RUN_BLOCK  8u   /* words: a cache line */
#define TABLE_RUN_BITS   16u  /* bits of the filter for each key */
#define TABLE_RUN_PROBES 6u   /* bits that a key sets in its block */
#define TABLE_RUN_RANGE  128u /* slots between two fences, about */
#define TABLE_RUN_BUFFER (TEMP_BUFFER / sizeof(struct table_slot)) /* slots */

uint64_t table_run_hash(struct table_key key)
{
	return hash_spread(key.low ^ (key.high << 32 | key.high >> 32));
}

static int table_run_compare_words(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int table_run_compare(struct table_key a, struct table_key b)
{
	int r = table_run_compare_words(table_run_hash(a), table_run_hash(b));

	if (!r)
		r = table_run_compare_words(a.low, b.low);
	return r ? r : table_run_compare_words(a.high, b.high);
}

void table_run_close(struct table_run *run)
{
	if (run->slots)
		munmap((void *)run->slots, run->count * sizeof(*run->slots));
	if (run->filter)
		close(run->fd);
	free(run->filter);
	free(run->fences);
	*run = (struct table_run){ 0 };
}

/* --- the filter --- */

/* Mixes the hash for the filter: the bits used do not decide about the place in the run. */
static uint64_t table_run_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

static uint64_t *table_run_block(const struct table_run *run, uint64_t mixed)
{
	return run->filter + (uint64_t)((unsigned __int128)mixed * run->blocks >> 64) * TABLE_RUN_BLOCK;
}

static void table_run_add(struct table_run *run, uint64_t hash)
{
	uint64_t mixed = table_run_mix(hash), *block = table_run_block(run, mixed);

	for (unsigned i = 0; i < TABLE_RUN_PROBES; i++, mixed >>= 9)
		block[mixed / 64 % TABLE_RUN_BLOCK] |= UINT64_C(1) << mixed % 64;
}

static bool table_run_may_have(const struct table_run *run, uint64_t hash)
{
	uint64_t mixed = table_run_mix(hash), *block = table_run_block(run, mixed);

	for (unsigned i = 0; i < TABLE_RUN_PROBES; i++, mixed >>= 9)
		if (!(block[mixed / 64 % TABLE_RUN_BLOCK] >> mixed % 64 & 1))
			return false;
	return true;
}

void table_run_prefetch(const struct table_run *run, uint64_t hash)
{
	__builtin_prefetch(table_run_block(run, table_run_mix(hash)));
}

/* --- writing --- */

struct table_run_writer {
	struct table_run run;
	struct temp_stream stream;
	uint64_t ranges; /* number of ranges that have a fence already */
};

/* Frees the writer after table_run_begin(), whether that succeeded or not. */
static void table_run_abort(struct table_run_writer *writer)
{
	temp_stream_close(&writer->stream);
	free(writer->run.filter);
	free(writer->run.fences);
}

static int table_run_begin(struct table_run_writer *writer, const struct temp *temp, uint64_t most, struct error *err)
{
	struct table_run *run = &writer->run;

	*writer = (struct table_run_writer){ .run.blocks = most * TABLE_RUN_BITS / (64 * TABLE_RUN_BLOCK) + 1,
					     .run.fence_log = 1 };
	while (most >> run->fence_log > TABLE_RUN_RANGE)
		run->fence_log++;
	run->filter = aligned_alloc(64, run->blocks * TABLE_RUN_BLOCK * sizeof(*run->filter));
	run->fences = malloc(((UINT64_C(1) << run->fence_log) + 1) * sizeof(*run->fences));
	if (!run->filter || !run->fences)
		return error_no_memory(err);
	memset(run->filter, 0, run->blocks * TABLE_RUN_BLOCK * sizeof(*run->filter));
	return temp_stream_open(&writer->stream, temp, err);
}

static void table_run_fence(struct table_run_writer *writer, uint64_t range)
{
	while (writer->ranges <= range)
		writer->run.fences[writer->ranges++] = writer->run.count;
}

static int table_run_put(struct table_run_writer *writer, const struct table_slot *slot, struct error *err)
{
	struct temp_stream *stream = &writer->stream;
	uint64_t hash = table_run_hash(slot->key);
	int r = 0;

	table_run_fence(writer, hash >> (64 - writer->run.fence_log));
	table_run_add(&writer->run, hash);
	if (stream->used + sizeof(*slot) > TEMP_BUFFER) {
		r = temp_stream_flush(stream, err);
		if (r == 0)
			r = interrupt_check(err);
	}
	if (r < 0)
		return r;
	memcpy(stream->buffer + stream->used, slot, sizeof(*slot));
	stream->used += sizeof(*slot);
	writer->run.count++;
	return 0;
}

/* Completes the run. Its file stays open when the stream is closed. Turns off read-ahead, which would bring in pages
 * that no look-up needs. */
static int table_run_end(struct table_run_writer *writer, struct table_run *ret, struct error *err)
{
	size_t length = writer->run.count * sizeof(struct table_slot);
	void *map;
	int r = temp_stream_flush(&writer->stream, err);

	if (r < 0)
		return r;
	table_run_fence(writer, UINT64_C(1) << writer->run.fence_log);
	map = mmap(NULL, length, PROT_READ, MAP_SHARED, writer->stream.fd, 0);
	if (map == MAP_FAILED)
		return error_errno(err, "cannot map a temporary file");
	(void)madvise(map, length, MADV_RANDOM);
	writer->run.slots = map;
	writer->run.fd = dup(writer->stream.fd);
	if (writer->run.fd < 0) {
		munmap(map, length);
		return error_errno(err, "dup");
	}
	temp_stream_close(&writer->stream);
	*ret = writer->run;
	return 0;
}

int table_run_make(const struct temp *temp, const struct table_slot *slots, uint64_t count, struct table_run *ret,
		   struct error *err)
{
	struct table_run_writer writer;
	int r = table_run_begin(&writer, temp, count, err);

	for (uint64_t i = 0; r == 0 && i < count; i++)
		r = table_run_put(&writer, &slots[i], err);
	if (r == 0)
		r = table_run_end(&writer, ret, err);
	if (r < 0)
		table_run_abort(&writer);
	return r;
}

/* --- merging --- */

struct table_run_reader {
	const struct table_run *run;
	uint64_t next;       /* the first slot that is not in the buffer */
	size_t at, used;     /* slots in the buffer */
	struct table_slot *buffer;
};

/* Sets *ret to the reader's next slot; NULL at the end of the run. */
static int table_run_peek(struct table_run_reader *reader, const struct temp *temp, const struct table_slot **ret,
			  struct error *err)
{
	uint64_t left = reader->run->count - reader->next;
	int r;

	if (reader->at == reader->used && left) {
		reader->used = left < TABLE_RUN_BUFFER ? (size_t)left : TABLE_RUN_BUFFER;
		reader->at = 0;
		r = temp_read(temp, reader->run->fd, reader->next * sizeof(struct table_slot), reader->buffer,
			      reader->used * sizeof(struct table_slot), err);
		if (r < 0)
			return r;
		reader->next += reader->used;
	}
	*ret = reader->at < reader->used ? &reader->buffer[reader->at] : NULL;
	return 0;
}

/* Copies the least slot to *ret, from the newest run that has its key, and skips the key elsewhere. 0 at the end. */
static int table_run_least(struct table_run_reader *readers, unsigned count, const struct temp *temp,
			   struct table_slot *ret, struct error *err)
{
	const struct table_slot *slots[TABLE_RUN_MERGE], *least = NULL;
	struct table_key key;
	int r;

	for (unsigned i = 0; i < count; i++) {
		r = table_run_peek(&readers[i], temp, &slots[i], err);
		if (r < 0)
			return r;
		if (slots[i] && (!least || table_run_compare(slots[i]->key, least->key) <= 0))
			least = slots[i];
	}
	if (!least)
		return 0;
	*ret = *least;
	key = least->key;
	for (unsigned i = 0; i < count; i++)
		readers[i].at += slots[i] && !table_run_compare(slots[i]->key, key);
	return 1;
}

static int table_run_merge_to(struct table_run_writer *writer, struct table_run_reader *readers, unsigned count,
			      const struct temp *temp, struct error *err)
{
	struct table_slot slot;
	int r;

	while ((r = table_run_least(readers, count, temp, &slot, err)) > 0) {
		r = table_run_put(writer, &slot, err);
		if (r < 0)
			break;
	}
	return r;
}

int table_run_merge(const struct temp *temp, const struct table_run *runs, unsigned count, struct table_run *ret,
		    struct error *err)
{
	struct table_slot *buffers = malloc(count * TABLE_RUN_BUFFER * sizeof(*buffers));
	struct table_run_reader readers[TABLE_RUN_MERGE];
	struct table_run_writer writer;
	uint64_t most = 0;
	int r;

	if (!buffers)
		return error_no_memory(err);
	for (unsigned i = 0; i < count; i++) {
		readers[i] = (struct table_run_reader){ .run = &runs[i], .buffer = buffers + i * TABLE_RUN_BUFFER };
		most += runs[i].count;
	}
	r = table_run_begin(&writer, temp, most, err);
	if (r == 0)
		r = table_run_merge_to(&writer, readers, count, temp, err);
	if (r == 0)
		r = table_run_end(&writer, ret, err);
	if (r < 0)
		table_run_abort(&writer);
	free(buffers);
	return r;
}

/* --- looking up --- */

bool table_run_find(const struct table_run *run, struct table_key key, uint64_t hash, uint64_t *ret)
{
	uint64_t range = hash >> (64 - run->fence_log), first = run->fences[range], end = run->fences[range + 1];

	if (!table_run_may_have(run, hash))
		return false;
	while (first < end) {
		uint64_t middle = first + (end - first) / 2;
		int r = table_run_compare(key, run->slots[middle].key);

		if (r == 0) {
			*ret = run->slots[middle].value;
			return true;
		}
		if (r < 0)
			end = middle;
		else
			first = middle + 1;
	}
	return false;
}
