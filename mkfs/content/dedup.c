/* SPDX-License-Identifier: MIT */
/* Loads the records of the versions on the volume, and compares new content with the chunks they point to. */
#include "content/dedup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/huge.h"
#include "base/program/interrupt.h"
#include "base/round.h"
#include "content/compare.h"
#include "content/key.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/members/address.h"

#define DEDUP_WINDOW  (256u << 10)
#define DEDUP_WINDOWS 8u /* small files are stored in the padding of files up to some hundred before them */
#define DEDUP_BUFFER  ((1u << DSFS_CHUNK_LOG_MAX) + 2 * DSFS_BLOCK)
#define DEDUP_AHEAD   16u /* files between the prefetch of a table slot and its use */

int dedup_open(struct dedup *dedup, const struct temp *temp, struct backing backing, uint32_t chunk_log, uint32_t sums,
	       struct error *err)
{
	int r = 0;

	*dedup = (struct dedup){ .backing = backing, .chunk_log = chunk_log, .sums = sums };
	dedup->backing.members = &dedup->members;
	if (backing.members && backing.members->count)
		r = members_copy(backing.members, &dedup->members, err);
	if (r == 0)
		r = mapped_open(&dedup->records, temp, err);
	if (r == 0)
		r = table_open(&dedup->files, temp, err);
	if (r == 0)
		r = table_open(&dedup->pieces, temp, err);
	return r;
}

void dedup_close(struct dedup *dedup)
{
	members_free(&dedup->members);
	mapped_close(&dedup->records);
	table_close(&dedup->files);
	table_close(&dedup->pieces);
	*dedup = (struct dedup){ 0 };
}

/* --- loading --- */

bool dedup_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size)
{
	return chunk_log == earlier_log || (size <= UINT64_C(1) << chunk_log && size <= UINT64_C(1) << earlier_log);
}

static uint64_t dedup_count(const struct dedup *dedup)
{
	return dedup->records.length / index_record_size(dedup->sums);
}

/* A small file while its table slot is being prefetched. */
struct dedup_file {
	struct table_key key;
	uint64_t where, count; /* its records in the version */
};

struct dedup_load {
	struct dedup *dedup;
	const struct previous_index *previous;
	struct dedup_file ahead[DEDUP_AHEAD]; /* a ring */
	uint64_t asked, taken;
};

static int dedup_append(const struct dedup_load *load, uint64_t where, uint64_t count, struct error *err)
{
	return mapped_append(&load->dedup->records, index_record(&load->previous->index, where),
			     count * index_record_size(load->dedup->sums), NULL, err);
}

/* Adds the file that was prefetched first to the table. */
static int dedup_take(struct dedup_load *load, struct error *err)
{
	const struct dedup_file *file = &load->ahead[load->taken++ % DEDUP_AHEAD];
	struct dedup *dedup = load->dedup;
	uint64_t first = dedup_count(dedup), other;
	int r;

	if (table_find(&dedup->files, file->key, &other))
		return 0;
	r = dedup_append(load, file->where, file->count, err);
	return r < 0 ? r : table_set(&dedup->files, file->key, first, err);
}

static int dedup_ask(struct dedup_load *load, const struct dedup_file *file, struct error *err)
{
	int r = load->asked - load->taken == DEDUP_AHEAD ? dedup_take(load, err) : 0;

	if (r < 0)
		return r;
	table_prefetch(&load->dedup->files, file->key);
	load->ahead[load->asked++ % DEDUP_AHEAD] = *file;
	return 0;
}

static int dedup_add_small(struct dedup_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	struct dedup_file file = { .where = inode->where, .count = count };
	uint64_t sums[KEY_CHUNKS];
	bool has_data = false;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i++) {
		r = chunk_get(&load->previous->index, inode, i, &chunk, err);
		if (r < 0 || chunk_is_inline(&chunk)) /* content in the index is not shared */
			return r;
		sums[i] = chunk_is_hole(&chunk) ? 0 : key_of_sum(&chunk.sum);
		has_data |= !chunk_is_hole(&chunk);
	}
	if (!has_data)
		return 0;
	file.key = key_of_file(inode->size, sums, (uint32_t)count);
	return dedup_ask(load, &file, err);
}

/* Returns 1 if the file has a chunk that is not in the table yet; 0 if not, or if a chunk lies in the index. Checks
 * every record as well: a run takes the records one after the other, so a bad one must not be added. */
static int dedup_has_new(const struct dedup_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	uint64_t other, run;
	struct chunk chunk;
	bool is_new = false;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(&load->previous->index, inode, i, &chunk, &run, err);
		if (r < 0 || chunk_is_inline(&chunk))
			return r;
		if (!is_new && !chunk_is_hole(&chunk))
			is_new = !table_find(&load->dedup->pieces, key_of_chunk(&chunk.sum, chunk.length), &other);
	}
	return is_new;
}

/* Adds all records of a large file, or none, because a run continues with the next record. */
static int dedup_add_large(struct dedup_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	const struct index *index = &load->previous->index;
	struct dedup *dedup = load->dedup;
	uint64_t first = dedup_count(dedup), other, run;
	struct chunk chunk;
	int r = dedup_has_new(load, inode, count, err);

	if (r <= 0)
		return r;
	r = dedup_append(load, inode->where, inode_record_count(index, inode), err);
	for (uint64_t i = 0; r == 0 && i < count; i += run) {
		struct table_key key;

		r = chunk_get_run(index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		key = key_of_chunk(&chunk.sum, chunk.length);
		if (!chunk_is_hole(&chunk) && !table_find(&dedup->pieces, key, &other))
			r = table_set(&dedup->pieces, key, first + (chunk.number - inode->where), err);
	}
	return r;
}

int dedup_add(struct dedup *dedup, const struct previous_index *previous, struct error *err)
{
	struct dedup_load load = { .dedup = dedup, .previous = previous };
	uint64_t inodes = previous->index.shape.inode_count, count;
	struct inode inode;
	int r = 0;

	for (uint64_t ordinal = 1; r == 0 && ordinal <= inodes; ordinal++) {
		r = inode_get(&previous->index, ordinal, &inode, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
		if (!S_ISREG(inode.mode) || !inode.size ||
		    !dedup_chunks_fit(dedup->chunk_log, previous->index.chunk_log, inode.size))
			continue;
		count = inode_chunk_count(&previous->index, &inode);
		r = (inode.size > BATCH_BYTES ? dedup_add_large : dedup_add_small)(&load, &inode, count, err);
	}
	while (r == 0 && load.taken < load.asked)
		r = dedup_take(&load, err);
	return r;
}

int dedup_settle(struct dedup *dedup, struct error *err)
{
	int r = table_settle(&dedup->files, err);

	return r < 0 ? r : table_settle(&dedup->pieces, err);
}

/* --- lookup --- */

/* A part of the volume, which is read the second time that it is needed. */
struct dedup_window {
	uint64_t base; /* a multiple of DEDUP_WINDOW; UINT64_MAX: not used yet */
	uint8_t *bytes;
	bool loaded;
};

struct dedup_view {
	const struct dedup *dedup;
	struct codec *codec;
	struct dedup_window windows[DEDUP_WINDOWS];
	unsigned next;    /* the next to be replaced */
	uint8_t *memory;  /* of all windows */
	uint8_t *buffer;  /* for reads outside of windows */
	uint8_t *decoded; /* a chunk */
};

struct dedup_view *dedup_view_new(const struct dedup *dedup)
{
	struct dedup_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->dedup = dedup;
	view->codec = codec_new();
	view->memory = huge_alloc((size_t)DEDUP_WINDOWS * DEDUP_WINDOW);
	view->buffer = aligned_alloc(DSFS_BLOCK, DEDUP_BUFFER);
	view->decoded = malloc((size_t)1 << dedup->chunk_log);
	for (unsigned i = 0; view->memory && i < DEDUP_WINDOWS; i++)
		view->windows[i] = (struct dedup_window){ UINT64_MAX, view->memory + i * DEDUP_WINDOW, false };
	if (view->codec && view->memory && view->buffer && view->decoded)
		return view;
	dedup_view_free(view);
	return NULL;
}

void dedup_view_free(struct dedup_view *view)
{
	if (!view)
		return;
	codec_free(view->codec);
	free(view->memory);
	free(view->buffer);
	free(view->decoded);
	free(view);
}

/* Reads whole blocks into a window or the buffer; false if they do not fit, lie outside of the volume or cannot be
 * read. */
static bool dedup_view_read(const struct dedup_view *view, uint64_t start, uint64_t end, uint8_t *to)
{
	const struct dedup *dedup = view->dedup;
	uint64_t size = backing_size(dedup->backing, address_member(start));

	return end - start <= DEDUP_BUFFER && address_offset(start) + (end - start) <= round_down(size, DSFS_BLOCK) &&
	       backing_read(dedup->backing, start, 0, to, end - start, NULL) == 0;
}

/* Returns the loaded window at base; NULL if it is needed for the first time, or cannot be read. */
static const struct dedup_window *dedup_view_window(struct dedup_view *view, uint64_t base)
{
	struct dedup_window *window = view->windows;

	while (window < view->windows + DEDUP_WINDOWS && window->base != base)
		window++;
	if (window == view->windows + DEDUP_WINDOWS) {
		window = &view->windows[view->next++ % DEDUP_WINDOWS];
		window->base = base;
		window->loaded = false;
		return NULL;
	}
	if (!window->loaded)
		window->loaded = dedup_view_read(view, base, base + DEDUP_WINDOW, window->bytes);
	return window->loaded ? window : NULL;
}

/* Returns bytes of the volume; NULL if they cannot be read. Large chunks do not go through windows. */
static const uint8_t *dedup_view_bytes(struct dedup_view *view, uint64_t address, uint32_t length)
{
	uint64_t start = round_down(address, DSFS_BLOCK), inside = address % DEDUP_WINDOW;
	const struct dedup_window *window = NULL;

	if (length <= DEDUP_WINDOW / 4 && inside + length <= DEDUP_WINDOW)
		window = dedup_view_window(view, address - inside);
	if (window)
		return window->bytes + inside;
	if (!dedup_view_read(view, start, round_up(address + length, DSFS_BLOCK), view->buffer))
		return NULL;
	return view->buffer + (address - start);
}

static int dedup_view_stored(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err)
{
	*ret = dedup_view_bytes(argument, chunk->address, chunk->stored);
	return *ret ? 0 : error_set(err, -EIO, "chunk at %#" PRIx64 " cannot be read", chunk->address);
}

static const struct dsfs_chunk *dedup_record(const struct dedup *dedup, uint64_t number)
{
	return number < dedup_count(dedup) ? index_record_in(dedup->records.bytes, dedup->sums, number) : NULL;
}

static bool dedup_is_same(struct dedup_view *view, uint64_t number, const struct batch_chunk *chunk)
{
	const struct dsfs_chunk *record = dedup_record(view->dedup, number);
	struct compare compare = { view->codec, view->decoded, dedup_view_stored, view };

	return record && compare_chunk(&compare, record, chunk, NULL) > 0;
}

static void dedup_find_file(struct dedup_view *view, struct batch *batch, struct item *item)
{
	struct table_key key = { item->result.key.low, item->result.key.high };
	uint64_t first;

	if (!item->result.chunk_count || !table_find(&view->dedup->files, key, &first))
		return;
	for (uint32_t i = 0; i < item->result.chunk_count; i++)
		if (!dedup_is_same(view, first + i, &batch->chunks[item->result.first_chunk + i]))
			return;
	for (uint32_t i = 0; i < item->result.chunk_count; i++)
		batch->chunks[item->result.first_chunk + i].duplicate_of = DEDUP_RECORD | (first + i);
}

/* Tries for each chunk the record after the previous chunk's duplicate, then the table. */
static void dedup_find_pieces(struct dedup_view *view, struct batch *batch, struct item *item)
{
	uint64_t next = UINT64_MAX, found;

	for (uint32_t i = 0; i < item->result.chunk_count; i++) {
		struct batch_chunk *chunk = &batch->chunks[item->result.first_chunk + i];
		struct table_key key = key_of_chunk(&chunk->sum, chunk->length);

		if (chunk->is_hole) {
			next = UINT64_MAX;
			continue;
		}
		found = next;
		if (!dedup_is_same(view, found, chunk) &&
		    (!table_find(&view->dedup->pieces, key, &found) || !dedup_is_same(view, found, chunk)))
			found = UINT64_MAX;
		chunk->duplicate_of = found == UINT64_MAX ? 0 : DEDUP_RECORD | found;
		next = found == UINT64_MAX ? UINT64_MAX : found + 1;
	}
}

void dedup_find(struct dedup_view *view, struct batch *batch, struct item *item)
{
	(item->kind == ITEM_FILE ? dedup_find_file : dedup_find_pieces)(view, batch, item);
}
