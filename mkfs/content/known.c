/* SPDX-License-Identifier: MIT */
/* Loading of what is known, and the comparison with it. */
#include "content/known.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/huge.h"
#include "base/interrupt.h"
#include "content/compare.h"
#include "content/key.h"
#include "image/address.h"
#include "image/chunk.h"
#include "image/inode.h"

#define KNOWN_WINDOW  (256u << 10)
#define KNOWN_WINDOWS 8u /* small files lie in the padding of others, up to some hundred files back */
#define KNOWN_BUFFER  ((1u << DSFS_CHUNK_LOG_MAX) + 2 * DSFS_BLOCK)
#define KNOWN_AHEAD  16u /* files between the question for a slot's memory and its use */

int known_open(struct known *known, const struct temp *temp, struct source *source, uint64_t member_size,
	       uint32_t chunk_log, struct error *err)
{
	int r;

	*known = (struct known){ .source = source, .member_size = member_size, .chunk_log = chunk_log };
	r = mapped_open(&known->records, temp, err);
	if (r == 0)
		r = table_open(&known->files, temp, err);
	if (r == 0)
		r = table_open(&known->pieces, temp, err);
	return r;
}

void known_close(struct known *known)
{
	mapped_close(&known->records);
	table_close(&known->files);
	table_close(&known->pieces);
	*known = (struct known){ 0 };
}

/* --- loading --- */

bool known_chunks_fit(uint32_t chunk_log, uint32_t earlier_log, uint64_t size)
{
	return chunk_log == earlier_log || (size <= UINT64_C(1) << chunk_log && size <= UINT64_C(1) << earlier_log);
}

static uint64_t known_count(const struct known *known)
{
	return known->records.length / sizeof(struct dsfs_chunk);
}

/* A small file whose slot was asked for. */
struct known_file {
	struct table_key key;
	uint64_t where, count; /* its records in the version */
};

struct known_load {
	struct known *known;
	const struct earlier *earlier;
	struct known_file ahead[KNOWN_AHEAD]; /* a ring */
	uint64_t asked, taken;
};

static int known_append(const struct known_load *load, uint64_t where, uint64_t count, struct error *err)
{
	const struct dsfs_chunk *records = (const struct dsfs_chunk *)load->earlier->index.chunks.base + where;

	return mapped_append(&load->known->records, records, count * sizeof(*records), NULL, err);
}

/* The file that was asked for first goes into the table. */
static int known_take(struct known_load *load, struct error *err)
{
	const struct known_file *file = &load->ahead[load->taken++ % KNOWN_AHEAD];
	struct known *known = load->known;
	uint64_t first = known_count(known), other;
	int r;

	if (table_find(&known->files, file->key, &other))
		return 0;
	r = known_append(load, file->where, file->count, err);
	return r < 0 ? r : table_add(&known->files, file->key, first, err);
}

static int known_ask(struct known_load *load, const struct known_file *file, struct error *err)
{
	int r = load->asked - load->taken == KNOWN_AHEAD ? known_take(load, err) : 0;

	if (r < 0)
		return r;
	table_prefetch(&load->known->files, file->key);
	load->ahead[load->asked++ % KNOWN_AHEAD] = *file;
	return 0;
}

static int known_add_small(struct known_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	struct known_file file = { .where = inode->where, .count = count };
	uint64_t sums[KEY_CHUNKS];
	bool has_data = false;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i++) {
		r = chunk_get(&load->earlier->index, inode, i, &chunk, err);
		if (r < 0 || chunk_is_inline(&chunk)) /* bytes in an index are copied with it */
			return r;
		sums[i] = chunk_is_hole(&chunk) ? 0 : chunk.sum;
		has_data |= !chunk_is_hole(&chunk);
	}
	if (!has_data)
		return 0;
	file.key = key_of_file(inode->size, sums, (uint32_t)count);
	return known_ask(load, &file, err);
}

/* 1 when all chunks of the file lie on the volume, 0 when some are in the index. A run takes the records one after the
 * other, so none may come in that is not right. */
static int known_check(const struct known_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	struct chunk chunk;
	uint64_t run;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		r = chunk_get_run(&load->earlier->index, inode, i, &chunk, &run, err);
		if (r < 0 || chunk_is_inline(&chunk))
			return r;
	}
	return 1;
}

/* All records, as soon as one of its chunks is new: a run must find its neighbours. */
static int known_add_large(struct known_load *load, const struct inode *inode, uint64_t count, struct error *err)
{
	struct known *known = load->known;
	uint64_t first = known_count(known), records = inode_record_count(&load->earlier->index, inode), other, run;
	bool appended = false;
	struct chunk chunk;
	int r;

	for (uint64_t i = 0; i < count; i += run) {
		struct table_key key;

		r = chunk_get_run(&load->earlier->index, inode, i, &chunk, &run, err);
		if (r < 0)
			return r;
		key = key_of_chunk(chunk.sum, chunk.length);
		if (chunk_is_hole(&chunk) || table_find(&known->pieces, key, &other))
			continue;
		if (!appended) {
			r = known_check(load, inode, count, err);
			if (r <= 0)
				return r;
			r = known_append(load, inode->where, records, err);
		}
		appended = true;
		if (r == 0)
			r = table_add(&known->pieces, key, first + (chunk.number - inode->where), err);
		if (r < 0)
			return r;
	}
	return 0;
}

int known_add(struct known *known, const struct earlier *earlier, struct error *err)
{
	struct known_load load = { .known = known, .earlier = earlier };
	uint64_t inodes = earlier->index.shape.inode_count, count;
	struct inode inode;
	int r = table_reserve(&known->files, inodes, err);

	for (uint64_t ordinal = 1; r == 0 && ordinal <= inodes; ordinal++) {
		r = inode_get(&earlier->index, ordinal, &inode, err);
		if (r == 0)
			r = interrupt_check(err);
		if (r < 0)
			return r;
		if (!S_ISREG(inode.mode) || !inode.size ||
		    !known_chunks_fit(known->chunk_log, earlier->index.chunk_log, inode.size))
			continue;
		count = inode_chunk_count(&earlier->index, &inode);
		r = (inode.size > BATCH_BYTES ? known_add_large : known_add_small)(&load, &inode, count, err);
	}
	while (r == 0 && load.taken < load.asked)
		r = known_take(&load, err);
	return r;
}

/* --- looking --- */

/* A part of the volume that is read when it is asked for a second time. */
struct known_window {
	uint64_t base; /* a multiple of KNOWN_WINDOW; UINT64_MAX: not used yet */
	uint8_t *bytes;
	bool loaded;
};

struct known_view {
	const struct known *known;
	struct codec *codec;
	struct known_window windows[KNOWN_WINDOWS];
	unsigned next; /* to be given up for another one */
	uint8_t *memory;  /* of all windows */
	uint8_t *buffer;  /* what was read alone */
	uint8_t *decoded; /* a chunk */
};

struct known_view *known_view_new(const struct known *known)
{
	struct known_view *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	view->known = known;
	view->codec = codec_new();
	view->memory = huge_alloc((size_t)KNOWN_WINDOWS * KNOWN_WINDOW);
	view->buffer = aligned_alloc(DSFS_BLOCK, KNOWN_BUFFER);
	view->decoded = malloc((size_t)1 << known->chunk_log);
	for (unsigned i = 0; view->memory && i < KNOWN_WINDOWS; i++)
		view->windows[i] = (struct known_window){ UINT64_MAX, view->memory + i * KNOWN_WINDOW, false };
	if (view->codec && view->memory && view->buffer && view->decoded)
		return view;
	known_view_free(view);
	return NULL;
}

void known_view_free(struct known_view *view)
{
	if (!view)
		return;
	codec_free(view->codec);
	free(view->memory);
	free(view->buffer);
	free(view->decoded);
	free(view);
}

/* Whole blocks into a window or the buffer; false when they do not fit, do not lie on the volume or cannot be read. */
static bool known_view_read(const struct known_view *view, uint64_t start, uint64_t end, uint8_t *to)
{
	return end - start <= KNOWN_BUFFER && end <= round_down(view->known->member_size, DSFS_BLOCK) &&
	       source_read(view->known->source, 0, start, to, end - start, NULL) == 0;
}

/* The window when it is loaded, or can be; NULL when nobody asked for it before. */
static const struct known_window *known_view_window(struct known_view *view, uint64_t base)
{
	struct known_window *window = view->windows;

	while (window < view->windows + KNOWN_WINDOWS && window->base != base)
		window++;
	if (window == view->windows + KNOWN_WINDOWS) {
		window = &view->windows[view->next++ % KNOWN_WINDOWS];
		window->base = base;
		window->loaded = false;
		return NULL;
	}
	if (!window->loaded)
		window->loaded = known_view_read(view, base, base + KNOWN_WINDOW, window->bytes);
	return window->loaded ? window : NULL;
}

/* Bytes of the volume, NULL when they cannot be read. What is large is read alone. */
static const uint8_t *known_view_bytes(struct known_view *view, uint64_t offset, uint32_t length)
{
	uint64_t start = round_down(offset, DSFS_BLOCK), inside = offset % KNOWN_WINDOW;
	const struct known_window *window = NULL;

	if (length <= KNOWN_WINDOW / 4 && inside + length <= KNOWN_WINDOW)
		window = known_view_window(view, offset - inside);
	if (window)
		return window->bytes + inside;
	if (!known_view_read(view, start, round_up(offset + length, DSFS_BLOCK), view->buffer))
		return NULL;
	return view->buffer + (offset - start);
}

static int known_view_stored(void *argument, const struct chunk *chunk, const uint8_t **ret, struct error *err)
{
	*ret = NULL;
	if (address_member(chunk->address) == 0)
		*ret = known_view_bytes(argument, address_offset(chunk->address), chunk->stored);
	return *ret ? 0 : error_set(err, -EIO, "chunk at %#" PRIx64 " cannot be read", chunk->address);
}

static const struct dsfs_chunk *known_record(const struct known *known, uint64_t number)
{
	return number < known_count(known) ? (const struct dsfs_chunk *)known->records.bytes + number : NULL;
}

static bool known_is_same(struct known_view *view, uint64_t number, const struct batch_chunk *chunk)
{
	const struct dsfs_chunk *record = known_record(view->known, number);
	struct compare compare = { view->codec, view->decoded, known_view_stored, view };

	return record && compare_chunk(&compare, record, chunk, NULL) > 0;
}

static void known_find_file(struct known_view *view, struct batch *batch, struct item *item)
{
	struct table_key key = { item->key.low, item->key.high };
	uint64_t first;

	if (!item->chunk_count || !table_find(&view->known->files, key, &first))
		return;
	for (uint32_t i = 0; i < item->chunk_count; i++)
		if (!known_is_same(view, first + i, &batch->chunks[item->first_chunk + i]))
			return;
	for (uint32_t i = 0; i < item->chunk_count; i++)
		batch->chunks[item->first_chunk + i].known = KNOWN_RECORD | (first + i);
}

/* Each chunk where the one before it leads, or where the table says. */
static void known_find_pieces(struct known_view *view, struct batch *batch, struct item *item)
{
	uint64_t next = UINT64_MAX, found;

	for (uint32_t i = 0; i < item->chunk_count; i++) {
		struct batch_chunk *chunk = &batch->chunks[item->first_chunk + i];
		struct table_key key = key_of_chunk(chunk->sum, chunk->length);

		if (chunk->is_hole) {
			next = UINT64_MAX;
			continue;
		}
		found = next;
		if (!known_is_same(view, found, chunk) && (!table_find(&view->known->pieces, key, &found) ||
							   !known_is_same(view, found, chunk)))
			found = UINT64_MAX;
		chunk->known = found == UINT64_MAX ? 0 : KNOWN_RECORD | found;
		next = found == UINT64_MAX ? UINT64_MAX : found + 1;
	}
}

void known_find(struct known_view *view, struct batch *batch, struct item *item)
{
	(item->kind == ITEM_FILE ? known_find_file : known_find_pieces)(view, batch, item);
}
