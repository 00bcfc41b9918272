/* SPDX-License-Identifier: MIT */
/* Damages a small volume, one byte or one truncation at a time, and reads all of it as the daemon would: what
 * comes out is what was packed, or a refusal with a reason.
 * usage: flips VOLUME ROUNDS SEED STEP */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "image/catalogue/block_sums.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "lib/memory.h"

/* Content of a chunk of the undamaged volume. */
struct original {
	uint64_t ordinal, number;
	uint64_t from, to; /* its bytes on the volume; equal when it has none */
	uint32_t length;
	uint8_t *content;
};

struct state {
	struct memory memory;
	struct codec *codec;
	struct original *originals;
	size_t count, room;
	uint8_t digest[32];
	uint64_t refused, eio, harmless;
	struct version version; /* without its lists */
	uint64_t no_head, no_row; /* flips that took all block checksums, and some */
};

static void die(const char *what)
{
	fprintf(stderr, "flips: %s\n", what);
	exit(1);
}

static int open_version(struct state *state, struct index **ret, struct error *err)
{
	struct version *current;
	struct catalogue catalogue = { 0 };
	struct superblock super;
	int r = catalogue_load(&state->memory.source, &super, &catalogue, err);

	if (r < 0)
		return r;
	current = catalogue_current(&catalogue);
	if (current)
		r = index_load(backing_of(&state->memory.source, &catalogue.members), current, ret, err);
	else
		r = error_set(err, -ENOENT, "no current version");
	if (r == 0) {
		version_free(&state->version);
		state->version = *current;
		*current = (struct version){ 0 }; /* its lists are the state's */
	}
	catalogue_free(&catalogue);
	return r;
}

/* The chunk's content into out, as a read would get it. */
static int read_chunk(struct state *state, struct index *index, const struct chunk *chunk, uint8_t *out,
		      struct error *err)
{
	static uint8_t stored[1u << DSFS_CHUNK_LOG_MAX];
	int r;

	if (chunk_is_hole(chunk))
		return chunk_decode(chunk, state->codec, NULL, out, err);
	if (chunk_is_inline(chunk))
		return chunk_decode(chunk, state->codec, chunk_inline_bytes(index, chunk), out, err);
	r = source_read(&state->memory.source, address_member(chunk->address), address_offset(chunk->address), stored,
			chunk->stored, err);
	return r < 0 ? r : chunk_decode(chunk, state->codec, stored, out, err);
}

static void remember(struct state *state, struct index *index, const struct inode *inode, uint64_t i)
{
	struct original *o;
	struct chunk chunk;
	struct error err = { 0 };

	if (state->count == state->room) {
		state->room = state->room ? 2 * state->room : 1024;
		state->originals = realloc(state->originals, state->room * sizeof(*o));
		if (!state->originals)
			die("no memory");
	}
	o = &state->originals[state->count++];
	if (chunk_get(index, inode, i, &chunk, &err) < 0)
		die(err.reason);
	*o = (struct original){ .ordinal = inode->ordinal, .number = i, .length = chunk.length };
	if (!chunk_is_hole(&chunk) && !chunk_is_inline(&chunk)) {
		o->from = address_offset(chunk.address);
		o->to = o->from + chunk.stored;
	}
	o->content = malloc(chunk.length);
	if (!o->content || read_chunk(state, index, &chunk, o->content, &err) < 0)
		die(err.reason);
}

static void remember_all(struct state *state)
{
	struct error err = { 0 };
	struct index *index;
	struct inode inode;

	if (open_version(state, &index, &err) < 0 || dump_digest(index, state->digest, &err) < 0)
		die(err.reason);
	for (uint64_t ordinal = 1; ordinal <= index->shape.inode_count; ordinal++) {
		if (inode_get(index, ordinal, &inode, &err) < 0)
			die(err.reason);
		for (uint64_t i = 0; S_ISREG(inode.mode) && i < inode_chunk_count(index, &inode); i++)
			remember(state, index, &inode, i);
	}
	index_close(index);
}

/* A chunk fails exactly when the damaged byte is one of its own. */
static bool check_chunk(struct state *state, struct index *index, const struct original *o, uint64_t at)
{
	static uint8_t content[1u << DSFS_CHUNK_LOG_MAX];
	bool hit = at >= o->from && at < o->to;
	struct error err = { 0 };
	struct inode inode;
	struct chunk chunk;
	int r;

	if (inode_get(index, o->ordinal, &inode, &err) < 0 || chunk_get(index, &inode, o->number, &chunk, &err) < 0)
		die(err.reason);
	r = read_chunk(state, index, &chunk, content, &err);
	if (r == 0 && memcmp(content, o->content, o->length) != 0)
		die("WRONG BYTES were read");
	if (r == 0 && hit && chunk.codec == DSFS_CODEC_RAW)
		die("a damaged chunk was read without an error");
	if (r < 0 && (!hit || !err.reason[0]))
		die("an undamaged chunk failed, or one failed without a reason");
	return r < 0;
}

/* The chunk's row is right, or refused because the damaged byte is in its page. */
static bool check_row(struct index *index, struct block_sums_view *view, const struct original *o, bool hit)
{
	struct iovec content = { o->content, o->length };
	struct error err = { 0 };
	struct chunk chunk;
	struct inode inode;
	const uint8_t *row;
	int r;

	if (inode_get(index, o->ordinal, &inode, &err) < 0 || chunk_get(index, &inode, o->number, &chunk, &err) < 0)
		die(err.reason);
	r = block_sums_view_row(view, inode.where + o->number, &row, &err);
	if (r > 0 && sum_check_blocks(&chunk.sum, chunk.length, row, 0, &content, 1, &err) < 0)
		die("WRONG SUMS were read");
	if (r < 0 && (!hit || !err.reason[0]))
		die("undamaged sums were refused, or some without a reason");
	return r < 0;
}

static void check_block_sums(struct state *state, struct index *index, uint64_t at)
{
	const struct extent *where = state->version.block_sums.extents.items;
	bool hit = at - where->address < where->length, missed = false;
	struct error err = { 0 };
	struct block_sums_view *view;
	struct block_sums *block_sums;

	if (block_sums_load(backing_of(&state->memory.source, NULL), &state->version, &block_sums, &err) < 0) {
		if (!hit || !err.reason[0])
			die("undamaged block checksums were refused, or damaged ones without a reason");
		state->no_head++;
		return;
	}
	if (block_sums_view_new(block_sums, &state->memory.source, &view, &err) < 0)
		die(err.reason);
	for (size_t i = 0; i < state->count; i++)
		missed |= check_row(index, view, &state->originals[i], hit);
	if (hit && !missed)
		die("damaged block checksums were taken");
	state->no_row += missed;
	block_sums_view_free(view);
	block_sums_close(block_sums);
}

static void check_damage(struct state *state, uint64_t at)
{
	struct error err = { 0 };
	struct index *index;
	uint8_t digest[32];
	bool failed = false;

	if (open_version(state, &index, &err) < 0) {
		if (!err.reason[0])
			die("a refusal without a reason");
		state->refused++;
		return;
	}
	if (dump_digest(index, digest, &err) < 0 || memcmp(digest, state->digest, sizeof(digest)) != 0)
		die("a damaged index was opened");
	for (size_t i = 0; i < state->count; i++)
		failed |= check_chunk(state, index, &state->originals[i], at);
	check_block_sums(state, index, at);
	state->eio += failed;
	state->harmless += !failed;
	index_close(index);
}

/* Half of the bytes anywhere, half where something is written: most of a small volume's head is padding. */
static uint64_t choose(struct state *state, uint64_t round, uint64_t random)
{
	uint64_t written = state->memory.size - DSFS_DATA_AT;

	if (round % 8 == 0)
		return random % DSFS_DATA_AT;
	if (round % 8 == 1)
		return random % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING + random / 64 % DSFS_BLOCK;
	return DSFS_DATA_AT + random % written;
}

static void flip_bytes(struct state *state, uint64_t rounds, unsigned seed)
{
	uint64_t drawn, at;

	srandom(seed);
	for (uint64_t round = 0; round < rounds; round++) {
		drawn = (uint64_t)random() << 31 | (uint64_t)random();
		at = choose(state, round, drawn);
		state->memory.bytes[at] ^= (uint8_t)(1 + drawn % 255);
		check_damage(state, at);
		state->memory.bytes[at] ^= (uint8_t)(1 + drawn % 255);
	}
	printf("%" PRIu64 " flips: %" PRIu64 " refused, %" PRIu64 " EIO of the damaged chunk, %" PRIu64
	       " harmless, of these %" PRIu64
	       " took all block checksums and %" PRIu64 " some\n",
	       rounds, state->refused, state->eio, state->harmless, state->no_head, state->no_row);
	if (!state->refused || !state->eio || !state->harmless)
		die("the flips did not reach every region");
}

/* Every step-th byte of the block checksums; padding in the head is covered as well. */
static void flip_block_sums(struct state *state, uint64_t step)
{
	struct extent where = state->version.block_sums.extents.items[0];

	for (uint64_t at = where.address; at < where.address + where.length; at += step) {
		state->memory.bytes[at] ^= 0x10;
		check_damage(state, at);
		state->memory.bytes[at] ^= 0x10;
	}
	printf("%" PRIu64 " bytes of block checksums, flipped each %" PRIu64 ": %" PRIu64
	       " took all of them, %" PRIu64 " some\n",
	       where.length, step, state->no_head, state->no_row);
}

static void truncate_everywhere(struct state *state)
{
	uint64_t size = state->memory.size;
	struct error err;
	struct index *index;

	for (uint64_t cut = 0; cut < size; cut += DSFS_BLOCK) {
		err = (struct error){ 0 };
		state->memory.size = cut;
		if (open_version(state, &index, &err) == 0)
			die("a truncated volume was opened");
		if (!err.reason[0])
			die("a refusal without a reason");
	}
	state->memory.size = size;
	printf("%" PRIu64 " truncations refused\n", size / DSFS_BLOCK);
}

static void read_volume(struct state *state, const char *path)
{
	struct stat st;
	FILE *file = fopen(path, "rb");

	if (!file || fstat(fileno(file), &st) < 0)
		die(path);
	memory_init(&state->memory, (uint64_t)st.st_size);
	if (fread(state->memory.bytes, 1, state->memory.size, file) != state->memory.size)
		die(path);
	fclose(file);
}

int main(int argc, char **argv)
{
	struct state state = { .codec = codec_new() };

	if (argc != 5 || !state.codec)
		die("usage: flips VOLUME ROUNDS SEED STEP");
	read_volume(&state, argv[1]);
	remember_all(&state);
	flip_bytes(&state, strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	flip_block_sums(&state, strtoull(argv[4], NULL, 10));
	truncate_everywhere(&state);
	for (size_t i = 0; i < state.count; i++)
		free(state.originals[i].content);
	free(state.originals);
	version_free(&state.version);
	codec_free(state.codec);
	memory_done(&state.memory);
	return 0;
}
