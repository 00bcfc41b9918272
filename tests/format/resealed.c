/* SPDX-License-Identifier: MIT */
/* Changes a signed volume byte by byte as somebody would who can write it and has no key: whatever sum covers the byte,
 * and each sum above that, is made right again, up to the superblock. A reader who trusts the signer refuses what comes
 * out, with a reason, or reads what was packed.
 * usage: resealed VOLUME SIGNERS STEP: every STEP-th byte of each structure */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/packed.h"
#include "format/reseal.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/dump.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "image/names/names.h"
#include "image/sums/checksum.h"
#include "trust/trust.h"

struct state {
	struct packed packed;
	uint8_t *pristine; /* the bytes of the volume */
	struct superblock super;
	struct catalogue catalogue;
	struct version *version;
	struct catalogue first; /* the pristine one, as are these: */
	struct index *index;
	struct block_sums *block_sums;
	struct block_sums_layout layout;
	struct trust trust;
	bool with_digest; /* the forger computes the digest as well */
	uint64_t done, damaged, refused, failed, harmless, served;
};

static void must(int r, const struct error *err)
{
	if (r < 0)
		packed_die(err->reason);
}

/* --- the forger --- */

/* Computes the digest that the changed index has. One that cannot be read keeps its digest. */
static int reseal_digest(struct state *state, struct error *err)
{
	struct index *index;
	int r;

	if (!state->with_digest || packed_open(&state->packed, &index, NULL) < 0)
		return 0;
	r = dump_digest(index, state->version->digest, NULL);
	index_close(index);
	return r < 0 ? 0 : reseal_catalogue(&state->packed.all.source, &state->super, &state->catalogue, err);
}

static int reseal_from_index(struct state *state, struct error *err)
{
	struct source *source = &state->packed.all.source;
	int r = reseal_index(source, state->version, err);

	if (r == 0)
		r = reseal_catalogue(source, &state->super, &state->catalogue, err);
	return r < 0 ? r : reseal_digest(state, err);
}

static int reseal_slot(struct state *state, uint64_t at, struct error *err)
{
	uint8_t *slot = state->packed.memory->bytes + at / DSFS_SLOT_SPACING * DSFS_SLOT_SPACING;
	struct dsfs_superblock *disk = (struct dsfs_superblock *)slot;

	disk->checksum = dsfs_le64_of(checksum_64(disk, sizeof(*disk) - sizeof(disk->checksum)));
	return 0;
}

static int reseal_records(struct state *state, uint64_t at, struct error *err)
{
	return reseal_superblock(&state->packed.all.source, &state->super, err);
}

static int reseal_rows(struct state *state, uint64_t at, struct error *err)
{
	return reseal_from_index(state, err);
}

static int reseal_fine(struct state *state, uint64_t at, struct error *err)
{
	struct source *source = &state->packed.all.source;
	uint64_t begin = address_offset(state->version->block_sums.extents.items[0].address);
	uint8_t *head = state->packed.memory->bytes + begin, *page;
	dsfs_le64 *sums = (dsfs_le64 *)(head + state->layout.sums);
	int r;

	if (at >= begin + state->layout.head) {
		page = head + (at - begin) / DSFS_BLOCK * DSFS_BLOCK;
		sums[(at - begin - state->layout.head) / DSFS_BLOCK] = dsfs_le64_of(checksum_64(page, DSFS_BLOCK));
	}
	r = reseal_head(source, state->version, state->layout.head, err);
	return r < 0 ? r : reseal_catalogue(source, &state->super, &state->catalogue, err);
}

/* Puts the sums of the blocks of what now lies at the chunk's place into its row. */
static int reseal_row(struct state *state, const struct chunk *chunk, struct error *err)
{
	uint8_t blocks[DSFS_BLOCK], *bytes = state->packed.memory->bytes;
	struct block_sums_row row;
	uint64_t at;

	if (!block_sums_find(state->block_sums, chunk->number, &row))
		return 0;
	sum_of_each(chunk->sum.kind, bytes + address_offset(chunk->address), chunk->length, blocks);
	at = address_offset(block_sums_page_address(state->block_sums, row.page)) + row.offset;
	memcpy(bytes + at, blocks, sum_blocks_size(chunk->sum.kind, chunk->length));
	return reseal_fine(state, at, err);
}

static int reseal_chunk(struct state *state, const struct original *o, struct error *err)
{
	uint8_t *bytes = state->packed.memory->bytes, *records = bytes;
	struct index_layout layout;
	struct inode inode;
	struct chunk chunk;
	int r = inode_get(state->index, o->ordinal, &inode, err);

	if (r == 0)
		r = chunk_get(state->index, &inode, o->number, &chunk, err);
	if (r == 0)
		r = index_layout(&state->version->shape, &layout, err);
	if (r < 0 || chunk.codec != DSFS_CODEC_RAW)
		return r;
	records += address_offset(state->version->index.extents.items[0].address) + layout.chunks;
	chunk.sum = sum_of(chunk.sum.kind, bytes + o->from, chunk.length);
	chunk_encode(&chunk, records + chunk.number * index_record_size(chunk.sum.kind));
	return reseal_row(state, &chunk, err);
}

static int reseal_content(struct state *state, uint64_t at, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < state->packed.count; i++)
		if (at >= state->packed.originals[i].from && at < state->packed.originals[i].to)
			r = reseal_chunk(state, &state->packed.originals[i], err);
	return r < 0 ? r : reseal_from_index(state, err);
}

/* --- the reader --- */

static int look_up(void *argument, uint64_t directory, const struct names_entry *entry)
{
	uint64_t ordinal = 0;

	if (names_lookup(argument, directory, entry->name, entry->name_length, &ordinal) < 0 ||
	    ordinal != entry->ordinal)
		packed_die("a name that is listed IS NOT FOUND, or is another file");
	return 0;
}

static void check_names(struct index *index)
{
	struct error err = { 0 };

	must(names_walk(index->names, look_up, index->names), &err);
}

/* Whether the chunk is read without an error, and as what was packed. */
static bool check_chunk(struct state *state, struct index *index, const struct original *o, bool *ret_same)
{
	static uint8_t content[1u << DSFS_CHUNK_LOG_MAX];
	struct error err = { 0 };
	struct inode inode;
	struct chunk chunk;

	must(inode_get(index, o->ordinal, &inode, &err), &err);
	if (chunk_get(index, &inode, o->number, &chunk, &err) < 0 ||
	    packed_read_chunk(&state->packed, index, &chunk, content, &err) < 0) {
		if (!err.reason[0])
			packed_die("a chunk failed without a reason");
		return false;
	}
	*ret_same = chunk.length == o->length && !memcmp(content, o->content, o->length);
	return true;
}

/* Reads everything that is left. trusted: other content than was packed is a failure of this test. */
static void check_content(struct state *state, struct index *index, bool trusted)
{
	bool same = true, failed = false, other = false;

	for (size_t i = 0; i < state->packed.count; i++) {
		failed |= !check_chunk(state, index, &state->packed.originals[i], &same);
		other |= !same;
	}
	if (trusted && other)
		packed_die("WRONG BYTES were read");
	state->served += !trusted && other;
	state->failed += trusted && failed;
	state->harmless += trusted && !failed;
}

static void check(struct state *state)
{
	struct error err = { 0 };
	struct trust_signer signer;
	struct index *index;
	int r = packed_open(&state->packed, &index, &err);

	if (r < 0) {
		if (!err.reason[0])
			packed_die("a refusal without a reason");
		state->damaged++;
		return;
	}
	r = trust_check(&state->trust, &state->packed.version, state->packed.volume, &signer, &err);
	if (r == 0)
		r = dump_check_digest(index, &state->packed.version, state->packed.version.digest, NULL, &err);
	if (r < 0 && !err.reason[0])
		packed_die("a refusal without a reason");
	state->refused += r < 0;
	check_content(state, index, r == 0);
	if (r == 0)
		check_names(index);
	index_close(index);
}

/* --- each byte --- */

static void load_pristine(struct state *state)
{
	struct error err = { 0 };

	memcpy(state->packed.memory->bytes, state->pristine, state->packed.memory->size);
	catalogue_free(&state->catalogue);
	must(catalogue_load(&state->packed.all.source, NULL, &state->super, &state->catalogue, &err), &err);
	state->version = catalogue_current(&state->catalogue);
}

typedef int mend(struct state *state, uint64_t at, struct error *err);

static void change(struct state *state, uint64_t from, uint64_t length, uint64_t step, mend *make_right)
{
	struct error err = { 0 };

	for (uint64_t at = from; at < from + length; at += step) {
		load_pristine(state);
		state->with_digest = state->done % 2;
		state->packed.memory->bytes[at] ^= (uint8_t)(1u << state->done++ % 8);
		must(make_right(state, at, &err), &err);
		check(state);
	}
}

static void report(struct state *state, const char *what)
{
	printf("%-16s %5" PRIu64 " bytes: %5" PRIu64 " not valid, %5" PRIu64 " refused, %5" PRIu64 " EIO, %5" PRIu64
	       " as packed; without trust %" PRIu64 " serve something else\n",
	       what, state->done, state->damaged, state->refused, state->failed, state->harmless, state->served);
	state->done = state->damaged = state->refused = state->failed = state->harmless = state->served = 0;
}

static void change_section(struct state *state, const char *what, const struct version_section *section, uint64_t step,
			   mend *make_right)
{
	struct extent where;

	if (section->extents.count != 1)
		packed_die("a section in pieces, or none");
	where = section->extents.items[0];
	change(state, address_offset(where.address), section->length, step, make_right);
	report(state, what);
}

static void change_all(struct state *state, uint64_t step)
{
	uint64_t slot = state->super.sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING;

	change(state, slot, sizeof(struct dsfs_superblock), step, reseal_slot);
	report(state, "superblock");
	change(state, address_offset(state->super.catalogue_address), state->super.catalogue_length, step,
	       reseal_records);
	if (!state->refused)
		packed_die("no change of a record was refused by its signature");
	report(state, "catalogue");
	change_section(state, "index", &state->version->index, step, reseal_rows);
	change_section(state, "block checksums", &state->version->block_sums, step, reseal_fine);
	for (size_t i = 0; i < state->packed.count; i++) {
		const struct original *o = &state->packed.originals[i];

		change(state, o->from, o->to - o->from, step * 97, reseal_content);
	}
	if (!state->served || state->harmless || state->failed)
		packed_die("a forged content was not served without trust, or was opened with it");
	report(state, "content");
}

/* Opens what the forger looks up in the pristine volume. */
static void open_pristine(struct state *state)
{
	struct backing backing = backing_of(&state->packed.all.source, NULL);
	const struct dsfs_fine *head;
	struct superblock super;
	struct version *version;
	struct error err = { 0 };
	uint64_t length;

	must(catalogue_load(backing.source, NULL, &super, &state->first, &err), &err);
	version = catalogue_current(&state->first);
	must(packed_open(&state->packed, &state->index, &err), &err);
	must(block_sums_load(backing, version, &state->block_sums, &err), &err);
	if (!state->block_sums)
		packed_die("the version has no block checksums");
	head = block_sums_head(state->block_sums, &length);
	block_sums_layout(version->shape.chunk_sum, version->chunk_log, version->shape.chunk_count,
			  dsfs_le64_get(head->row_count), &state->layout);
}

static void begin(struct state *state)
{
	state->pristine = packed_copy(&state->packed, 0);
	load_pristine(state);
	open_pristine(state);
	check(state);
	if (state->harmless != 1)
		packed_die("the volume as it is was not read");
	state->harmless = 0;
}

int main(int argc, char **argv)
{
	struct state state = { .done = 0 };

	if (argc != 4)
		packed_die("usage: resealed VOLUME SIGNERS STEP");
	packed_load(&state.packed, argv[1]);
	state.trust.signers = argv[2];
	begin(&state);
	change_all(&state, strtoull(argv[3], NULL, 10));
	block_sums_close(state.block_sums);
	index_close(state.index);
	catalogue_free(&state.first);
	catalogue_free(&state.catalogue);
	packed_free(&state.packed);
	free(state.pristine);
	return 0;
}
