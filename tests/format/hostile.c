/* SPDX-License-Identifier: MIT */
/* Makes hostile volumes of a sound one: fields, records and pieces of each structure are changed at random, and then
 * every sum is made right again, up to the superblock. Reads each in process as the daemon and the tools would, or
 * writes it to files for those. Nothing may crash, and each refusal has a reason. Of several members, some get the
 * changes and others stay as they were, every other time.
 * usage: hostile VOLUME SEED FIRST COUNT [FOLDER]: those with these numbers, as FOLDER/NUMBER.MEMBER */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "format/packed.h"
#include "format/reseal.h"
#include "image/catalogue/block_sums.h"
#include "image/catalogue/dump.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"

#define HOSTILE_CHANGES 4u    /* of a volume, at most */
#define HOSTILE_INODES  2000u /* that are read of each, at most */

enum target { SLOT, CATALOGUE, MEMBERS, INDEX, FINE, TARGETS };

struct state {
	struct packed packed;
	uint8_t *pristine[MULTI_MEMBER_MAX];
	struct superblock super;
	struct catalogue catalogue;
	struct version *version; /* the current one in it */
	struct index_layout layout;
	uint64_t seed, random;
	uint64_t damaged, opened; /* counts */
};

struct region {
	uint64_t address, length;
};

static void must(int r, const struct error *err)
{
	if (r < 0)
		packed_die(err->reason);
}

static uint64_t draw(struct state *state)
{
	uint64_t z = state->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t below(struct state *state, uint64_t limit)
{
	return limit ? draw(state) % limit : 0;
}

/* --- changes --- */

static uint64_t interesting(struct state *state, uint64_t there)
{
	const uint64_t values[] = {
		0, 1, 2, there + 1, there - 1, there * 2, there ^ 1u << below(state, 31), DSFS_BLOCK, DSFS_BLOCK - 1,
		INT32_MAX, UINT32_MAX, UINT64_C(1) << 31, UINT64_C(1) << 40, (UINT64_C(1) << 40) - 1,
		UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - DSFS_BLOCK + 1, state->packed.memory->size,
		state->packed.memory->size - DSFS_BLOCK, below(state, 256), draw(state),
	};

	return values[below(state, sizeof(values) / sizeof(*values))];
}

static void change_field(struct state *state, uint8_t *bytes, uint64_t length)
{
	size_t size = (size_t)1 << below(state, 4);
	uint64_t at = below(state, length) / size * size, value = 0;

	if (at + size > length)
		return;
	memcpy(&value, bytes + at, size);
	value = interesting(state, value);
	memcpy(bytes + at, &value, size);
}

/* Copies a piece over another, as of records that do not belong there. */
static void change_piece(struct state *state, uint8_t *bytes, uint64_t length)
{
	static const uint16_t sizes[] = { 4, 8, 16, 20, 24, 32, 40, 64, 256, 512 };
	uint64_t size = sizes[below(state, sizeof(sizes) / sizeof(*sizes))], from, to;

	if (size > length)
		return;
	from = below(state, length - size + 1) / 4 * 4;
	to = below(state, length - size + 1) / 4 * 4;
	memmove(bytes + to, bytes + from, size);
}

static void change_run(struct state *state, uint8_t *bytes, uint64_t length)
{
	uint64_t at = below(state, length), size = 1 + below(state, 64);

	memset(bytes + at, draw(state) % 2 ? 0 : (int)below(state, 256), size < length - at ? size : length - at);
}

static uint8_t *bytes_at(struct state *state, uint64_t address)
{
	return state->packed.all.members[address_member(address)].bytes + address_offset(address);
}

/* Changes all copies of the region alike. */
static void change(struct state *state, struct region region)
{
	uint8_t *bytes = bytes_at(state, region.address);
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count;

	if (!region.length)
		return;
	for (uint64_t i = 1 + below(state, HOSTILE_CHANGES); i; i--)
		switch (below(state, 8)) {
		case 0:
			bytes[below(state, region.length)] ^= (uint8_t)(1u << below(state, 8));
			break;
		case 1:
			change_run(state, bytes, region.length);
			break;
		case 2:
		case 3:
			change_piece(state, bytes, region.length);
			break;
		default:
			change_field(state, bytes, region.length);
		}
	count = members_copies(&state->catalogue.members, region.address, copies);
	for (uint32_t i = 0; i < count; i++)
		memmove(bytes_at(state, copies[i]), bytes, region.length);
}

/* --- where, and the sums above --- */

static struct region section_region(const struct version_section *section)
{
	return section->extents.count == 1 ? (struct region){ section->extents.items[0].address, section->length } :
					     (struct region){ 0, 0 };
}

/* A part of the index, each as likely as the others, whatever its size. */
static struct region index_part(struct state *state)
{
	const struct index_layout *layout = &state->layout;
	const uint64_t ends[] = { layout->names, layout->inodes, layout->chunks, layout->classes, layout->blob,
				  state->version->index.length };
	struct region all = section_region(&state->version->index);
	uint64_t part = below(state, 5);

	return all.length ? (struct region){ all.address + ends[part], ends[part + 1] - ends[part] } : all;
}

static void reseal_slot(struct state *state, uint64_t address)
{
	struct dsfs_superblock *disk = (void *)bytes_at(state, address);

	disk->checksum = dsfs_le64_of(checksum_64(disk, sizeof(*disk) - sizeof(disk->checksum)));
}

static int change_slot(struct state *state, struct error *err)
{
	uint32_t member = (uint32_t)below(state, state->packed.all.count);
	uint64_t at = state->super.sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING;
	struct region slot = { address_make(member, at), sizeof(struct dsfs_superblock) - sizeof(dsfs_le64) };

	change(state, slot);
	reseal_slot(state, slot.address);
	return 0;
}

static int change_catalogue(struct state *state, struct error *err)
{
	change(state, (struct region){ state->super.catalogue_address, state->super.catalogue_length });
	return reseal_superblock(&state->packed.all.source, &state->super, err);
}

/* The table of members and groups, which is a small part of the catalogue. */
static struct region members_table(struct state *state)
{
	const struct dsfs_catalogue *head = (const void *)bytes_at(state, state->super.catalogue_address);
	const struct members *members = &state->catalogue.members;
	uint64_t before = sizeof(*head) + dsfs_le32_get(head->version_count) * sizeof(struct dsfs_version) +
			  dsfs_le32_get(head->extent_count) * sizeof(struct dsfs_extent);

	return (struct region){ state->super.catalogue_address + before,
				sizeof(struct dsfs_members) + members->count * sizeof(struct dsfs_member) +
				members->group_count * sizeof(struct dsfs_group) +
				members->column_count * sizeof(dsfs_le64) +
				members->history_count * sizeof(struct dsfs_epoch) };
}

static int change_members(struct state *state, struct error *err)
{
	if (!state->catalogue.members.count)
		return change_catalogue(state, err);
	change(state, members_table(state));
	return reseal_superblock(&state->packed.all.source, &state->super, err);
}

/* Every other time the digest is right as well, if the index can be read. */
static int reseal_digest(struct state *state, struct error *err)
{
	struct index *index;
	int r;

	if (draw(state) % 2 || packed_open(&state->packed, &index, NULL) < 0)
		return 0;
	r = dump_digest(index, state->version->digest, NULL);
	index_close(index);
	return r < 0 ? 0 : reseal_catalogue(&state->packed.all.source, &state->super, &state->catalogue, err);
}

static int change_index(struct state *state, struct error *err)
{
	int r;

	change(state, index_part(state));
	r = reseal_index(&state->packed.all.source, state->version, err);
	if (r == 0)
		r = reseal_catalogue(&state->packed.all.source, &state->super, &state->catalogue, err);
	return r < 0 ? r : reseal_digest(state, err);
}

static uint64_t fine_head(const struct state *state, struct region fine)
{
	const struct dsfs_fine *head = (const void *)(state->pristine[address_member(fine.address)] +
						       address_offset(fine.address));
	struct block_sums_layout layout;

	block_sums_layout(state->version->shape.chunk_sum, state->version->chunk_log,
			  state->version->shape.chunk_count, dsfs_le64_get(head->row_count), &layout);
	return layout.head;
}

static int change_fine(struct state *state, struct error *err)
{
	struct region fine = section_region(&state->version->block_sums);
	int r;

	if (!fine.length)
		return change_index(state, err);
	change(state, fine);
	r = reseal_head(&state->packed.all.source, state->version, fine_head(state, fine), err);
	return r < 0 ? r : reseal_catalogue(&state->packed.all.source, &state->super, &state->catalogue, err);
}

static void restore_member(struct state *state, uint32_t member)
{
	memcpy(state->packed.all.members[member].bytes, state->pristine[member],
	       state->packed.all.members[member].size);
}

static void load_pristine(struct state *state)
{
	struct error err = { 0 };

	for (uint32_t i = 0; i < state->packed.all.count; i++)
		restore_member(state, i);
	catalogue_free(&state->catalogue);
	must(catalogue_load(&state->packed.all.source, NULL, &state->super, &state->catalogue, &err), &err);
	state->version = catalogue_current(&state->catalogue);
	must(index_layout(&state->version->shape, &state->layout, &err), &err);
}

/* Makes the volume with this number: of the index, most often, as that has the most to read. */
static void make(struct state *state, uint64_t number)
{
	static int (*const changes[TARGETS])(struct state *state, struct error *err) = {
		[SLOT] = change_slot, [CATALOGUE] = change_catalogue, [MEMBERS] = change_members,
		[INDEX] = change_index, [FINE] = change_fine,
	};
	struct error err = { 0 };
	enum target target;

	load_pristine(state);
	state->random = state->seed + number * UINT64_C(0x2545f4914f6cdd1d);
	target = below(state, 8) < TARGETS ? (enum target)below(state, TARGETS) : INDEX;
	must(changes[target](state, &err), &err);
	if (state->packed.all.count > 1 && draw(state) % 2)
		restore_member(state, (uint32_t)below(state, state->packed.all.count));
}

/* --- reading --- */

/* A refusal must say why. */
static bool is_fine(int r, const struct error *err)
{
	if (r < 0 && !err->reason[0])
		packed_die("a refusal without a reason");
	return r >= 0;
}

static int look_up(void *argument, uint64_t directory, const struct names_entry *entry)
{
	uint64_t ordinal = 0;

	(void)!names_lookup(argument, directory, entry->name, entry->name_length, &ordinal);
	return 0;
}

static void read_names(struct index *index)
{
	(void)!names_walk(index->names, look_up, index->names);
}

static int take_xattr(void *argument, struct span name, struct span value)
{
	uint64_t *sum = argument;

	for (size_t i = 0; i < name.size; i++)
		*sum += name.base[i];
	for (size_t i = 0; i < value.size; i++)
		*sum += value.base[i];
	return 0;
}

static void read_copies(struct state *state, struct index *index, const struct chunk *chunk, uint8_t *buffer)
{
	uint64_t copies[DSFS_COPIES_MAX];
	uint32_t count = members_copies(&index->members, chunk->address, copies);
	struct error err;

	for (uint32_t i = 0; i < count; i++) {
		err = (struct error){ 0 };
		(void)is_fine(source_read(&state->packed.all.source, address_member(copies[i]),
					  address_offset(copies[i]), buffer, chunk->stored, &err), &err);
	}
}

static void read_chunk(struct state *state, struct index *index, const struct inode *inode, uint64_t number)
{
	static uint8_t content[1u << DSFS_CHUNK_LOG_MAX];
	struct error err = { 0 };
	struct chunk chunk;

	if (!is_fine(chunk_get(index, inode, number, &chunk, &err), &err))
		return;
	(void)is_fine(packed_read_chunk(&state->packed, index, &chunk, content, &err), &err);
	if (!chunk_is_hole(&chunk) && !chunk_is_inline(&chunk))
		read_copies(state, index, &chunk, content);
}

static void read_inode(struct state *state, struct index *index, uint64_t ordinal)
{
	struct error err = { 0 };
	struct inode inode;
	struct span target;
	uint64_t sum = 0, count;

	if (!is_fine(inode_get(index, ordinal, &inode, &err), &err))
		return;
	(void)is_fine(inode_xattrs(index, &inode, take_xattr, &sum, &err), &err);
	if (S_ISLNK(inode.mode) && is_fine(inode_link_target(index, &inode, &target, &err), &err))
		(void)take_xattr(&sum, target, target);
	count = S_ISREG(inode.mode) ? inode_chunk_count(index, &inode) : 0;
	for (uint64_t i = 0; i < count; i += 1 + count / 8)
		read_chunk(state, index, &inode, i);
	if (count)
		read_chunk(state, index, &inode, count - 1);
}

static void read_block_sums(struct state *state, struct index *index)
{
	struct block_sums *block_sums = NULL;
	struct block_sums_view *view;
	struct error err = { 0 };
	const uint8_t *row;

	if (!is_fine(block_sums_load(backing_of(&state->packed.all.source, &index->members), &state->packed.version,
				     &block_sums, &err), &err) || !block_sums)
		return;
	must(block_sums_view_new(block_sums, &state->packed.all.source, &view, &err), &err);
	for (uint64_t i = 0; i < index->shape.chunk_count; i += 1 + index->shape.chunk_count / 200)
		(void)is_fine(block_sums_view_row(view, i, &row, &err), &err);
	block_sums_view_free(view);
	block_sums_close(block_sums);
}

static void read_all(struct state *state)
{
	uint8_t digest[32];
	struct error err = { 0 };
	struct index *index;
	uint64_t last;

	if (!is_fine(packed_open(&state->packed, &index, &err), &err)) {
		state->damaged++;
		return;
	}
	state->opened++;
	(void)is_fine(dump_digest(index, digest, &err), &err);
	read_names(index);
	last = index->shape.inode_count < HOSTILE_INODES ? index->shape.inode_count : HOSTILE_INODES;
	for (uint64_t ordinal = 1; ordinal <= last; ordinal++)
		read_inode(state, index, ordinal);
	read_block_sums(state, index);
	index_close(index);
}

/* --- all of them --- */

static void write_member(const struct memory *member, const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file || fwrite(member->bytes, 1, member->size, file) != member->size || fclose(file) != 0)
		packed_die(path);
}

static void write_files(struct state *state, const char *folder, uint64_t number)
{
	char path[4096];

	for (uint32_t i = 0; i < state->packed.all.count; i++) {
		snprintf(path, sizeof(path), "%s/%" PRIu64 ".%" PRIu32, folder, number, i);
		write_member(&state->packed.all.members[i], path);
	}
}

static void begin(struct state *state, const char *volume)
{
	packed_load(&state->packed, volume);
	for (uint32_t i = 0; i < state->packed.all.count; i++)
		state->pristine[i] = packed_copy(&state->packed, i);
	load_pristine(state);
	read_all(state);
	if (state->opened != 1)
		packed_die("the volume as it is was not read");
	state->opened = 0;
}

static void end(struct state *state)
{
	for (uint32_t i = 0; i < state->packed.all.count; i++)
		free(state->pristine[i]);
	catalogue_free(&state->catalogue);
	packed_free(&state->packed);
}

int main(int argc, char **argv)
{
	struct state state = { .seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 0 };
	uint64_t first, count;

	if (argc != 5 && argc != 6)
		packed_die("usage: hostile VOLUME SEED FIRST COUNT [FOLDER]");
	first = strtoull(argv[3], NULL, 10);
	count = strtoull(argv[4], NULL, 10);
	begin(&state, argv[1]);
	for (uint64_t number = first; number < first + count; number++) {
		make(&state, number);
		if (argc == 6)
			write_files(&state, argv[5], number);
		else
			read_all(&state);
	}
	if (argc == 5)
		printf("%" PRIu64 " volumes: %" PRIu64 " refused, %" PRIu64 " read\n", count, state.damaged,
		       state.opened);
	end(&state);
	return 0;
}
