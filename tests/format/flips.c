/* SPDX-License-Identifier: MIT */
/* Damages a small volume, one byte or one truncation at a time, and reads all of it as the daemon would: what
 * comes out is what was packed, or a refusal with a reason.
 * usage: flips VOLUME ROUNDS SEED STEP */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/packed.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/dump.h"
#include "image/inode.h"

struct state {
	struct packed packed;
	uint64_t refused, eio, harmless;
	uint64_t no_head, no_row; /* flips that took all block checksums, and some */
};

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
		packed_die(err.reason);
	r = packed_read_chunk(&state->packed, index, &chunk, content, &err);
	if (r == 0 && memcmp(content, o->content, o->length) != 0)
		packed_die("WRONG BYTES were read");
	if (r == 0 && hit && chunk.codec == DSFS_CODEC_RAW)
		packed_die("a damaged chunk was read without an error");
	if (r < 0 && (!hit || !err.reason[0]))
		packed_die("an undamaged chunk failed, or one failed without a reason");
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
		packed_die(err.reason);
	r = block_sums_view_row(view, inode.where + o->number, &row, &err);
	if (r > 0 && sum_check_blocks(&chunk.sum, chunk.length, row, 0, &content, 1, &err) < 0)
		packed_die("WRONG SUMS were read");
	if (r < 0 && (!hit || !err.reason[0]))
		packed_die("undamaged sums were refused, or some without a reason");
	return r < 0;
}

static void check_block_sums(struct state *state, struct index *index, uint64_t at)
{
	const struct extent *where = state->packed.version.block_sums.extents.items;
	bool hit = at - where->address < where->length, missed = false;
	struct error err = { 0 };
	struct block_sums_view *view;
	struct block_sums *block_sums;

	if (block_sums_load(backing_of(&state->packed.all.source, NULL), &state->packed.version, &block_sums,
			    &err) < 0) {
		if (!hit || !err.reason[0])
			packed_die("undamaged block checksums were refused, or damaged ones without a reason");
		state->no_head++;
		return;
	}
	if (block_sums_view_new(block_sums, &state->packed.all.source, &view, &err) < 0)
		packed_die(err.reason);
	for (size_t i = 0; i < state->packed.count; i++)
		missed |= check_row(index, view, &state->packed.originals[i], hit);
	if (hit && !missed)
		packed_die("damaged block checksums were taken");
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

	if (packed_open(&state->packed, &index, &err) < 0) {
		if (!err.reason[0])
			packed_die("a refusal without a reason");
		state->refused++;
		return;
	}
	if (dump_digest(index, digest, &err) < 0 || memcmp(digest, state->packed.digest, sizeof(digest)) != 0)
		packed_die("a damaged index was opened");
	for (size_t i = 0; i < state->packed.count; i++)
		failed |= check_chunk(state, index, &state->packed.originals[i], at);
	check_block_sums(state, index, at);
	state->eio += failed;
	state->harmless += !failed;
	index_close(index);
}

/* Half of the bytes anywhere, half where something is written: most of a small volume's head is padding. */
static uint64_t choose(struct state *state, uint64_t round, uint64_t random)
{
	uint64_t written = state->packed.memory->size - DSFS_DATA_AT;

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
		state->packed.memory->bytes[at] ^= (uint8_t)(1 + drawn % 255);
		check_damage(state, at);
		state->packed.memory->bytes[at] ^= (uint8_t)(1 + drawn % 255);
	}
	printf("%" PRIu64 " flips: %" PRIu64 " refused, %" PRIu64 " EIO of the damaged chunk, %" PRIu64
	       " harmless, of these %" PRIu64
	       " took all block checksums and %" PRIu64 " some\n",
	       rounds, state->refused, state->eio, state->harmless, state->no_head, state->no_row);
	if (!state->refused || !state->eio || !state->harmless)
		packed_die("the flips did not reach every region");
}

/* Every step-th byte of the block checksums; padding in the head is covered as well. */
static void flip_block_sums(struct state *state, uint64_t step)
{
	struct extent where = state->packed.version.block_sums.extents.items[0];

	for (uint64_t at = where.address; at < where.address + where.length; at += step) {
		state->packed.memory->bytes[at] ^= 0x10;
		check_damage(state, at);
		state->packed.memory->bytes[at] ^= 0x10;
	}
	printf("%" PRIu64 " bytes of block checksums, flipped each %" PRIu64 ": %" PRIu64
	       " took all of them, %" PRIu64 " some\n",
	       where.length, step, state->no_head, state->no_row);
}

static void truncate_everywhere(struct state *state)
{
	uint64_t size = state->packed.memory->size;
	struct error err;
	struct index *index;

	for (uint64_t cut = 0; cut < size; cut += DSFS_BLOCK) {
		err = (struct error){ 0 };
		state->packed.memory->size = cut;
		if (packed_open(&state->packed, &index, &err) == 0)
			packed_die("a truncated volume was opened");
		if (!err.reason[0])
			packed_die("a refusal without a reason");
	}
	state->packed.memory->size = size;
	printf("%" PRIu64 " truncations refused\n", size / DSFS_BLOCK);
}

int main(int argc, char **argv)
{
	struct state state = { 0 };

	if (argc != 5)
		packed_die("usage: flips VOLUME ROUNDS SEED STEP");
	packed_load(&state.packed, argv[1]);
	flip_bytes(&state, strtoull(argv[2], NULL, 10), (unsigned)strtoul(argv[3], NULL, 10));
	flip_block_sums(&state, strtoull(argv[4], NULL, 10));
	truncate_everywhere(&state);
	packed_free(&state.packed);
	return 0;
}
