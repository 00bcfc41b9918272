/* SPDX-License-Identifier: MIT */
/* The table of members and groups: round trips, every value out of range, where bytes lie and have copies, and which of
 * several catalogues is in force. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/source.h"
#include "image/catalogue/catalogue.h"
#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/inode.h"
#include "image/members/address.h"
#include "image/members/extent_map.h"
#include "image/members/members_table.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/multi_member.h"
#include "lib/section.h"

#define MIB   (UINT64_C(1) << 20)
#define SIZE  (8 * MIB)
#define COUNT 3u

static const struct superblock good = {
	.feature_incompat = DSFS_INCOMPAT_MEMBERS,
	.volume_uuid = "0123456789abcde",
	.sequence = 9,
	.member_size = SIZE,
	.member_count = COUNT,
	.member_uuid = { 1 },
	.segment_log = 20,
	.catalogue_address = DSFS_DATA_AT,
	.catalogue_length = 4096,
};

/* Column 0 of group 0 is full, group 1 has three copies, group 2 none; member 2 is cut short behind the last. */
static const uint64_t columns[][DSFS_COPIES_MAX] = {
	{ 2 * MIB, UINT64_C(1) << 56 | 2 * MIB },
	{ 3 * MIB, UINT64_C(1) << 56 | 3 * MIB, UINT64_C(2) << 56 | 2 * MIB },
	{ UINT64_C(2) << 56 | 7 * MIB },
};
static const struct member_group groups[] = {
	{ .birth = 4, .tail = MIB, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1 },
	{ .birth = 9, .tail = 8192, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 2 },
	{ .birth = 9, .tail = 4096, .kind = DSFS_GROUP_COPIES, .data = 1 },
};

static struct members make_members(void)
{
	struct members m = { .segment_log = 20, .nonce = 77, .count = COUNT, .list = calloc(COUNT, sizeof(*m.list)),
			     .history = { { 8, "h8" }, { 7, "h7" }, { 4, "h4" } }, .history_count = 3 };

	for (uint32_t i = 0; i < COUNT; i++)
		m.list[i] = (struct member){ .uuid = { (uint8_t)(i + 1) }, .size = SIZE };
	snprintf(m.list[1].identity, sizeof(m.list[1].identity), "nvme:uuid:of-one");
	snprintf(m.list[1].domain, sizeof(m.list[1].domain), "nqn.of-one");
	m.list[2].size = 7 * MIB + 4096;
	m.list[2].state = DSFS_MEMBER_STALE;
	m.list[2].stale_sequence = 4;
	m.list[2].stale_sha256[3] = 5;
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		CHECK_OK(members_add_group(&m, &groups[i], columns[i], &err));
	return m;
}

static void add_extents(struct extent_list *list, uint64_t a, uint64_t length, uint64_t b, uint64_t length_b)
{
	CHECK_OK(extent_list_add(list, a, length, &err));
	if (length_b)
		CHECK_OK(extent_list_add_in(list, b, length_b, MIB, &err));
}

static struct catalogue make_catalogue(void)
{
	struct catalogue catalogue = { .next_sequence = 2, .current = 1, .members = make_members() };
	struct version version = { .label = "v1", .sequence = 1, .chunk_log = 17,
				   .shape = { .names_length = 8192, .inode_count = 1, .class_count = 1,
					      .chunk_sum = DSFS_SUM_XXH3_64 },
				   .index.length = 16384, .source.length = 5000, .block_sums.length = 8192 };

	memcpy(catalogue.volume_uuid, good.volume_uuid, sizeof(catalogue.volume_uuid));
	add_extents(&version.segments, 2 * MIB, 2 * MIB, UINT64_C(2) << 56 | 7 * MIB, MIB);
	add_extents(&version.index.extents, 3 * MIB - 12288, 12288, 3 * MIB, 4096);
	add_extents(&version.source.extents, UINT64_C(2) << 56 | 7 * MIB, 4096, 2 * MIB, 904);
	add_extents(&version.block_sums.extents, 2 * MIB, 4096, 3 * MIB + 4096, 4096);
	CHECK_OK(catalogue_append(&catalogue, &version, &err));
	return catalogue;
}

static void round_trip(void **state)
{
	struct catalogue catalogue = make_catalogue(), found = { 0 };
	const struct version *version;
	uint64_t length, again_length;
	uint8_t *bytes, *again;

	CHECK_OK(catalogue_encode(&catalogue, &bytes, &length, &err));
	CHECK_OK(catalogue_decode(bytes, length, &good, &found, &err));
	assert_int_equal(found.members.count, COUNT);
	assert_int_equal(found.members.nonce, 77);
	assert_int_equal(found.members.history_count, 3);
	assert_memory_equal(found.members.list, catalogue.members.list, COUNT * sizeof(*found.members.list));
	assert_memory_equal(found.members.groups, catalogue.members.groups, sizeof(groups));
	assert_memory_equal(found.members.places, catalogue.members.places, 6 * sizeof(*found.members.places));
	version = catalogue_current(&found);
	assert_int_equal(version->index.extents.count, 2); /* not joined across segments */
	assert_int_equal(version->source.extents.count, 2);
	assert_int_equal(version->source.length, 5000);
	assert_int_equal(version->block_sums.extents.items[1].address, 3 * MIB + 4096);
	CHECK_OK(catalogue_encode(&found, &again, &again_length, &err));
	assert_int_equal(length, again_length);
	assert_memory_equal(bytes, again, length);
	for (uint64_t cut = 0; cut < 64 + 512 + 8 * 16 + 64 + 3 * 512 + 3 * 32 + 6 * 8 + 3 * 40; cut += 8) {
		struct catalogue none = { 0 };

		CHECK_FAILS(catalogue_decode(bytes, cut, &good, &none, &err), -EBADMSG, "");
	}
	free(bytes);
	free(again);
	catalogue_free(&catalogue);
	catalogue_free(&found);
}

/* --- every value out of range --- */

static void refused_by(struct superblock super, struct catalogue *catalogue, int code, const char *reason)
{
	struct catalogue found = { 0 };
	uint64_t length;
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(catalogue, &bytes, &length, &err));
	CHECK_FAILS(catalogue_decode(bytes, length, &super, &found, &err), code, reason);
	free(bytes);
	catalogue_free(catalogue);
}

static void refused(struct catalogue *catalogue, const char *reason)
{
	refused_by(good, catalogue, -EBADMSG, reason);
}

static void refused_members(void **state)
{
	struct superblock super = good;
	struct catalogue c;

	c = make_catalogue(), c.tail = 2 * MIB, refused(&c, "tail 0x200000");
	c = make_catalogue(), super.member_count = 2;
	refused_by(super, &c, -EBADMSG, "a table of 3, the superblock has 2");
	c = make_catalogue(), c.members.list[0].uuid[0] = 0, refused(&c, "member 0 has no UUID");
	c = make_catalogue(), c.members.list[2].uuid[0] = 2, refused(&c, "member 2 has no UUID or that of another");
	c = make_catalogue(), c.members.list[1].size += 512, refused(&c, "member 1 of 8389120 bytes");
	c = make_catalogue(), c.members.list[1].size = MIB - 4096, refused(&c, "member 1 of 1044480 bytes");
	c = make_catalogue(), c.members.list[1].size = UINT64_C(1) << 56, refused(&c, "member 1 of 72057594037927936");
	c = make_catalogue(), c.members.list[0].size += 4096, refused(&c, "another UUID or size");
	c = make_catalogue(), c.members.list[0].uuid[0] = 9, refused(&c, "another UUID or size");
	c = make_catalogue(), c.members.list[0].state = 7;
	refused_by(good, &c, -EOPNOTSUPP, "member 0 has state 7, a newer release");
	c = make_catalogue(), c.members.list[2].stale_sequence = 0, refused(&c, "state 1 has the last superblock 0");
	c = make_catalogue(), c.members.list[2].stale_sequence = 9, refused(&c, "state 1 has the last superblock 9");
	c = make_catalogue(), c.members.list[1].stale_sequence = 3, refused(&c, "state 0 has the last superblock 3");
	c = make_catalogue(), c.members.list[1].stale_sha256[0] = 1, refused(&c, "state 0 has the last superblock 0");
	c = make_catalogue(), c.members.history[0].sequence = 9, refused(&c, "of superblock 9 came before that of 9");
	c = make_catalogue(), c.members.history[2].sequence = 7, refused(&c, "of superblock 7 came before that of 7");
	c = make_catalogue(), c.members.history[2].sequence = 0, refused(&c, "of superblock 0 came before that of 7");
}

static void refused_groups(void **state)
{
	struct superblock super = good;
	struct catalogue c;

	c = make_catalogue(), c.members.groups[0].kind = 2;
	refused_by(good, &c, -EOPNOTSUPP, "group 0 is of kind 2, a newer release");
	c = make_catalogue(), c.members.groups[0].data = 2, refused(&c, "group 0 of copies has 2 + 1 columns");
	c = make_catalogue(), c.members.groups[0].redundant = 255, refused(&c, "group 0 of copies has 1 + 255 columns");
	c = make_catalogue(), c.members.groups[1].first_column = 1;
	refused(&c, "columns 1+3 of 6, expected to begin at 2");
	c = make_catalogue(), c.members.groups[2].redundant = 1, refused(&c, "columns 5+2 of 6");
	c = make_catalogue(), c.members.group_count--, refused(&c, "6 columns, the groups have 5");
	c = make_catalogue(), c.members.groups[1].tail = 8193, refused(&c, "group 1 has the tail 8193");
	c = make_catalogue(), c.members.groups[0].tail = MIB + 4096, refused(&c, "group 0 has the tail 1052672");
	c = make_catalogue(), c.members.groups[0].birth = 0, refused(&c, "born with superblock 0");
	c = make_catalogue(), c.members.groups[0].birth = 10, refused(&c, "born with superblock 10, this is 9");
	c = make_catalogue(), c.members.columns[0] = 0, refused(&c, "column at 0, where none can be");
	c = make_catalogue(), c.members.columns[0] = 2 * MIB + 4096, refused(&c, "column at 0x201000, where none can");
	c = make_catalogue(), c.members.columns[0] = SIZE, refused(&c, "column at 0x800000, where none can");
	c = make_catalogue(), c.members.columns[0] = UINT64_C(3) << 56 | 2 * MIB, refused(&c, "where none can be");
	c = make_catalogue(), c.members.groups[2].tail = 8192, refused(&c, "column at 0x200000000700000, where none");
	c = make_catalogue(), c.members.columns[1] = 5 * MIB, refused(&c, "group 0 has two columns on member 0");
	c = make_catalogue(), c.members.columns[3] = c.members.columns[1], refused(&c, "is in two groups");
	super.catalogue_address = 2 * MIB - 4096, super.catalogue_length = 8192;
	c = make_catalogue(), refused_by(super, &c, -EBADMSG, "column at 0x200000 holds a catalogue");
}

static void refused_versions(void **state)
{
	struct catalogue c;

	c = make_catalogue(), c.versions[0].segments.items[0].length = 3 * MIB, refused(&c, "not all data columns");
	c = make_catalogue(), c.versions[0].segments.items[1].address = UINT64_C(2) << 56 | 2 * MIB;
	refused(&c, "segments at 0x200000000200000+1048576 are not all data columns"); /* a copy */
	c = make_catalogue(), c.versions[0].index.extents.items[0].address += 4096;
	refused(&c, "index at 0x2fe000+12288 is not in one data column");
	c = make_catalogue(), c.versions[0].index.extents.items[1].address += 8192;
	refused(&c, "index at 0x302000+4096 is not in one data column");
	c = make_catalogue(), c.versions[0].index.extents.items[1].address |= UINT64_C(1) << 56;
	refused(&c, "is not in one data column, below its tail");
	c = make_catalogue(), c.versions[0].source.length = 5001;
	refused(&c, "source section of 5001 bytes at 0, its extents have 5000");
	c = make_catalogue(), c.versions[0].source.extents.items[0].length = 4095, c.versions[0].source.length--;
	refused(&c, "source section extent of 4095 bytes");
	c = make_catalogue(), c.versions[0].block_sums.length = 0;
	refused(&c, "block checksums of 0 bytes at 0, its extents have 8192");
	c = make_catalogue(), c.versions[0].block_sums.extents.items[0].address = 4 * MIB;
	refused(&c, "block checksums at 0x400000+4096 is not in one data column");
	c = make_catalogue(), c.versions[0].source.extents.items[0].address = UINT64_C(4) << 56 | 2 * MIB;
	refused(&c, "source section at 0x400000000200000+4096 is outside");
}

/* Bytes that no encoder makes. */
static void refused_bytes(void **state)
{
	struct catalogue c = make_catalogue(), found = { 0 };
	uint64_t at = 64 + 512 + 8 * 16, length;
	struct dsfs_version *version;
	struct dsfs_members *head;
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(&c, &bytes, &length, &err));
	version = (struct dsfs_version *)(bytes + 64);
	head = (struct dsfs_members *)(bytes + at);
	head->column_count = dsfs_le32_of(UINT32_MAX);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "4294967295 columns and 3 earlier");
	head->column_count = dsfs_le32_of(6), head->group_count = dsfs_le32_of(UINT32_MAX);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "4294967295 groups");
	head->group_count = dsfs_le32_of(3), head->history_count = dsfs_le32_of(DSFS_HISTORY_MAX + 1);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "65 earlier catalogues do not fit");
	head->history_count = dsfs_le32_of(3), version->first_source = dsfs_le32_of(0);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "source section extents 0+2");
	version->first_source = dsfs_le32_of(4), version->source.address = dsfs_le64_of(2 * MIB);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "5000 bytes at 0x200000, its");
	free(bytes);
	catalogue_free(&c);
}

/* --- where bytes lie --- */

static void look_ups(void **state)
{
	struct members m = make_members(), copy, none = { 0 };
	uint64_t places[DSFS_COPIES_MAX], two = UINT64_C(1) << 56, three = UINT64_C(2) << 56;

	CHECK_OK(members_copy(&m, &copy, &err));
	members_free(&m);
	assert_ptr_equal(members_group(&copy, 2 * MIB + 5), &copy.groups[0]);
	assert_ptr_equal(members_group(&copy, two | (4 * MIB - 1)), &copy.groups[1]);
	assert_null(members_group(&copy, 2 * MIB - 1));
	assert_null(members_group(&copy, 4 * MIB));
	assert_null(members_group(&none, 2 * MIB));
	assert_true(members_in_column(&copy, 2 * MIB, MIB));
	assert_false(members_in_column(&copy, 2 * MIB + 1, MIB));
	assert_true(members_in_column(&copy, 3 * MIB + 8191, 1));
	assert_false(members_in_column(&copy, 3 * MIB + 8191, 2));
	assert_false(members_in_column(&copy, two | (2 * MIB), 1)); /* of a copy */
	assert_int_equal(members_copies(&copy, 3 * MIB + 77, places), 3);
	assert_int_equal(places[0], 3 * MIB + 77);
	assert_int_equal(places[1], two | (3 * MIB + 77));
	assert_int_equal(places[2], three | (2 * MIB + 77));
	assert_int_equal(members_copies(&copy, three | (7 * MIB), places), 1);
	assert_int_equal(members_copies(&none, 77, places), 1);
	assert_int_equal(places[0], 77);
	assert_int_equal(members_size(&copy, 2), 7 * MIB + 4096);
	assert_int_equal(members_size(&copy, 3), 0);
	members_free(&copy);
}

static void history(void **state)
{
	struct members m = { 0 };
	struct superblock super = good;

	for (uint64_t i = 1; i <= DSFS_HISTORY_MAX + 6; i++) {
		super.sequence = i;
		super.catalogue_sha256[0] = (uint8_t)i;
		members_remember(&m, &super);
	}
	assert_int_equal(m.history_count, DSFS_HISTORY_MAX);
	assert_int_equal(members_age(&m, super.sequence, super.catalogue_sha256), 1);
	super.sequence = super.catalogue_sha256[0] = 7;
	assert_int_equal(members_age(&m, super.sequence, super.catalogue_sha256), DSFS_HISTORY_MAX);
	super.catalogue_sha256[0]++;
	assert_int_equal(members_age(&m, super.sequence, super.catalogue_sha256), 0);
	assert_int_equal(members_age(&m, 6, super.catalogue_sha256), 0);
}

/* A section whose bytes lie in three places. */
static void extents(void **state)
{
	struct extent items[] = { { 8192, 100 }, { UINT64_C(1) << 56 | 4096, 4000 }, { 100, 50 } };
	const struct extent_list list = { items, 3 };
	uint8_t bytes[4150], expected[4150];
	struct multi_member volume;
	struct extent_map map;
	uint64_t at = 0;

	multi_member_init(&volume, 2, 16384);
	for (uint32_t i = 0; i < 2 * 16384; i++)
		volume.members[i / 16384].bytes[i % 16384] = (uint8_t)(i * 2654435761u >> 13);
	CHECK_OK(extent_map_open(&list, &map, &err));
	for (uint32_t i = 0; i < 3; i++)
		for (uint64_t k = 0; k < items[i].length; k++, at++) {
			uint64_t address = extent_map_address(&map, at);

			assert_int_equal(address, items[i].address + k);
			expected[at] = volume.members[address_member(address)].bytes[address_offset(address)];
		}
	extent_map_close(&map);
	CHECK_OK(extent_list_read(&list, backing_of(&volume.source, NULL), 0, bytes, 4150, &err));
	assert_memory_equal(bytes, expected, 4150);
	CHECK_OK(extent_list_read(&list, backing_of(&volume.source, NULL), 99, bytes, 4002, &err));
	assert_memory_equal(bytes, expected + 99, 4002);
	CHECK_FAILS(extent_list_read(&list, backing_of(&volume.source, NULL), 1, bytes, 4150, &err), -ENODATA,
		    "ends at 4150, 1 bytes");
	multi_member_done(&volume);
}

/* A chunk lies in one data column, below its tail. */
static void chunks(void **state)
{
	static const struct { uint64_t address; bool is_inside; } places[] = {
		{ 2 * MIB, true }, { 3 * MIB - 1000, true }, { 3 * MIB - 999, false }, { 3 * MIB + 7193, false },
		{ UINT64_C(1) << 56 | 2 * MIB, false }, { UINT64_C(2) << 56 | 7 * MIB, true },
		{ UINT64_C(3) << 56 | 2 * MIB, false }, { 5 * MIB, false },
	};
	struct members m = make_members();
	struct section section;

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct version version;
		struct inode inode;
		struct chunk chunk;
		struct index *index;
		uint64_t first;

		section_init(&section);
		first = section_chunk(&section, places[i].address, 1, 1000, DSFS_CODEC_RAW);
		section_file(&section, 1, "f", 1000, first);
		CHECK_OK(index_load_fd(section_write(&section, &version), &version, 0, &m, &index, &err));
		CHECK_OK(inode_get(index, 2, &inode, &err));
		if (places[i].is_inside)
			CHECK_OK(chunk_get(index, &inode, 0, &chunk, &err));
		else
			CHECK_FAILS(chunk_get(index, &inode, 0, &chunk, &err), -EBADMSG, "impossible record");
		index_close(index);
	}
	members_free(&m);
}

/* --- which catalogue is in force --- */

/* A superblock of a member, with the number of the member in its UUID. */
static struct superblock superblock_of(uint32_t member, uint64_t sequence)
{
	struct superblock super = good;

	super.member = member;
	super.member_uuid[0] = (uint8_t)(member + 1);
	super.sequence = sequence;
	super.catalogue_address = address_make(member, DSFS_DATA_AT + sequence % 8 * 8192);
	return super;
}

/* With each catalogue all groups are new ones; else they stay those of the first. */
static bool is_written_anew = true;

static struct members m; /* of the volume */
static struct multi_member volume;

/* Publishes a catalogue on these members as superblock sequence, with the sizes that they all have. */
static struct superblock publish(const struct members *members, uint64_t sequence, uint32_t from, uint32_t to)
{
	struct catalogue catalogue = { .next_sequence = 1, .members = *members };
	struct superblock super = { 0 };
	uint8_t *bytes;

	memcpy(catalogue.volume_uuid, good.volume_uuid, sizeof(catalogue.volume_uuid));
	for (uint32_t g = 0; g < members->group_count; g++)
		if (!members->groups[g].birth || is_written_anew)
			members->groups[g].birth = sequence;
	for (uint32_t i = from; i < to; i++) {
		super = superblock_of(i, sequence);
		CHECK_OK(catalogue_encode(&catalogue, &bytes, &super.catalogue_length, &err));
		CHECK_OK(sha256_of(bytes, super.catalogue_length, super.catalogue_sha256, &err));
		CHECK_OK(source_write(&volume.source, i, address_offset(super.catalogue_address), bytes,
				      super.catalogue_length, &err));
		CHECK_OK(superblock_write(&volume.source, &super, &err));
		free(bytes);
	}
	return super;
}

/* Each has something that no other one has. */
static struct members plain_members(void)
{
	struct members plain = { .segment_log = 20, .count = COUNT, .list = calloc(COUNT, sizeof(*plain.list)) };
	const struct member_group group = { .tail = 4096, .kind = DSFS_GROUP_COPIES, .data = 1 };

	for (uint32_t i = 0; i < COUNT; i++)
		plain.list[i] = (struct member){ .uuid = { (uint8_t)(i + 1) }, .size = SIZE };
	for (uint32_t i = 0; i < COUNT; i++) {
		const uint64_t column = address_make(i, 6 * MIB);

		CHECK_OK(members_add_group(&plain, &group, &column, &err));
	}
	snprintf(plain.list[1].identity, sizeof(plain.list[1].identity), "nvme:uuid:of-one");
	return plain;
}

static int begin(void **state)
{
	m = plain_members();
	multi_member_init(&volume, COUNT, SIZE);
	is_written_anew = true;
	return 0;
}

static int end(void **state)
{
	multi_member_done(&volume);
	members_free(&m);
	return 0;
}

static void loads(uint64_t sequence, uint32_t member)
{
	struct catalogue found = { 0 };
	struct superblock super;

	CHECK_OK(catalogue_load(&volume.source, NULL, &super, &found, &err));
	assert_int_equal(super.sequence, sequence);
	assert_int_equal(super.member, member);
	assert_int_equal(found.members.count, COUNT);
	catalogue_free(&found);
}

static void does_not_load(int code, const char *reason)
{
	struct catalogue found = { 0 };
	struct superblock super;

	CHECK_FAILS(catalogue_load(&volume.source, NULL, &super, &found, &err), code, reason);
	assert_int_equal(found.members.count, 0);
}

static void all_at_one(void **state)
{
	publish(&m, 1, 0, COUNT);
	loads(1, 0);
	volume.members[0].bytes[DSFS_DATA_AT + 8192 + 70] ^= 1; /* any other copy will do */
	loads(1, 1);
	for (uint32_t i = 1; i < COUNT; i++)
		volume.members[i].bytes[DSFS_DATA_AT + 8192 + 70] ^= 1;
	does_not_load(-EBADMSG, "its SHA-256 is not the one in the superblock");
}

static void missing_ones(void **state)
{
	publish(&m, 1, 0, COUNT);
	volume.is_missing[1] = true;
	does_not_load(-ENOLINK,
		      "1 of 3 members are missing: member 1 (nvme:uuid:of-one 02000000-0000-0000-0000-000000000000): "
		      "not found, nothing here has its superblock");
	volume.is_missing[0] = true;
	does_not_load(-ENOLINK, "2 of 3 members are missing: member 0 (01000000-");
	volume.is_missing[2] = true;
	does_not_load(-EBADMSG, "it has only 0 bytes");
	volume.is_missing[0] = volume.is_missing[1] = volume.is_missing[2] = false;
	volume.members[2].size = 4 * MIB;
	does_not_load(-ENOLINK, "truncated");
}

/* A publisher is cut off between two slots: everything else had been written to all of them. */
static void one_step_behind(void **state)
{
	struct superblock before;

	before = publish(&m, 1, 0, COUNT);
	members_remember(&m, &before);
	publish(&m, 2, 0, 1);
	loads(2, 0);
	publish(&m, 2, 1, 2);
	loads(2, 0);
	m.list[2].state = DSFS_MEMBER_STALE, m.list[2].stale_sequence = 1;
	publish(&m, 2, 0, 2);
	does_not_load(-ENOLINK,
		      "1 of 3 members are missing: member 2 (03000000-0000-0000-0000-000000000000): "
		      "stale since superblock 1");
}

static void further_behind(void **state)
{
	struct superblock before;

	before = publish(&m, 1, 0, COUNT);
	members_remember(&m, &before);
	before = publish(&m, 2, 1, COUNT);
	members_remember(&m, &before);
	publish(&m, 3, 1, COUNT);
	does_not_load(-ENOLINK, "member 0 (01000000-0000-0000-0000-000000000000): stale since superblock 1");
}

/* A stale member has what is older than it. */
static void stale_and_needed(void **state)
{
	struct catalogue found = { 0 };
	struct superblock before;

	is_written_anew = false;
	before = publish(&m, 1, 0, COUNT);
	members_remember(&m, &before);
	before = publish(&m, 2, 1, COUNT);
	members_remember(&m, &before);
	publish(&m, 3, 1, COUNT);
	does_not_load(-ENOLINK, "stale since superblock 1"); /* an old copy: nobody published without it */
	m.list[0].state = DSFS_MEMBER_STALE, m.list[0].stale_sequence = 1;
	publish(&m, 3, 1, COUNT);
	CHECK_OK(catalogue_load(&volume.source, NULL, &before, &found, &err));
	assert_int_equal(found.members.list[0].missing_from, 2);
	assert_int_equal(found.members.list[1].missing_from, 0);
	assert_int_equal(found.members.list[2].missing_from, 0);
	catalogue_free(&found);
	m.groups[0].birth = 2; /* a group that it does not know */
	publish(&m, 3, 1, COUNT);
	does_not_load(-ENOLINK, "member 0 (01000000-0000-0000-0000-000000000000): stale since superblock 1");
}

/* So many changes were made without it that the history does not go back to its last superblock. */
static void stale_for_long(void **state)
{
	struct catalogue found = { 0 };
	struct superblock super;

	is_written_anew = false;
	super = publish(&m, 1, 0, COUNT);
	m.list[0].state = DSFS_MEMBER_STALE, m.list[0].stale_sequence = 1;
	memcpy(m.list[0].stale_sha256, super.catalogue_sha256, sizeof(super.catalogue_sha256));
	super.sequence = 7;
	members_remember(&m, &super);
	publish(&m, 8, 1, COUNT);
	CHECK_OK(catalogue_load(&volume.source, NULL, &super, &found, &err));
	assert_int_equal(found.members.list[0].missing_from, 2);
	catalogue_free(&found);
	m.list[0].stale_sha256[0] ^= 1;
	publish(&m, 8, 1, COUNT);
	does_not_load(-EBADMSG, "of another branch, superblock 1 of it did not come before 8");
	m.list[0].stale_sequence = 2; /* whose slot did not reach it */
	publish(&m, 8, 1, COUNT);
	does_not_load(-ENOLINK, "stale since superblock 1");
}

/* Another member has all that the missing one had; the copy that is there comes first. */
static void missing_and_copied(void **state)
{
	const struct member_group mirror = {
		.birth = 1, .tail = 4096, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1
	};
	uint64_t pair[2] = { address_make(0, 6 * MIB), address_make(1, 6 * MIB) }, copies[DSFS_COPIES_MAX];
	const bool none[COUNT] = { false };
	struct catalogue found = { 0 };
	struct superblock super;

	members_keep_groups(&m, none);
	CHECK_OK(members_add_group(&m, &mirror, pair, &err));
	publish(&m, 1, 0, COUNT);
	volume.is_missing[0] = volume.is_missing[2] = true;
	CHECK_OK(catalogue_load(&volume.source, NULL, &super, &found, &err));
	assert_int_equal(found.members.list[0].missing_from, 1);
	assert_int_equal(found.members.list[1].missing_from, 0);
	assert_int_equal(found.members.list[2].missing_from, 1);
	assert_int_equal(members_copies(&found.members, pair[0] + 77, copies), 1);
	assert_int_equal(copies[0], pair[1] + 77);
	members_note(&found.members, 0, 2); /* it is back, with what is older than superblock 2 */
	assert_int_equal(members_copies(&found.members, pair[0] + 77, copies), 2);
	assert_int_equal(copies[0], pair[0] + 77);
	members_note(&found.members, 0, 1);
	assert_int_equal(members_copies(&found.members, pair[0] + 77, copies), 1);
	catalogue_free(&found);
	volume.is_missing[1] = true;
	volume.is_missing[2] = false;
	does_not_load(-ENOLINK, "2 of 3 members are missing");
}

static void shows(uint64_t seen, uint64_t sequence, uint32_t member)
{
	struct catalogue found = { 0 };
	struct superblock super;

	CHECK_OK(catalogue_load_shown(&volume.source, NULL, seen, &super, &found, &err));
	assert_int_equal(super.sequence, sequence);
	assert_int_equal(super.member, member);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(found.members.list[i].missing_from, volume.is_missing[i]);
	catalogue_free(&found);
}

/* An open volume follows only a state that cannot be lost: one member more than every group can lose must show it. */
static void shown_by_enough(void **state)
{
	const struct member_group mirror = {
		.birth = 1, .tail = 4096, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1
	};
	uint64_t pair[2] = { address_make(0, 7 * MIB), address_make(1, 7 * MIB) };
	bool kept[COUNT + 1] = { false, false, false, true };
	struct superblock super;

	CHECK_OK(members_add_group(&m, &mirror, pair, &err));
	assert_int_equal(members_spare(&m), 0);
	super = publish(&m, 1, 0, COUNT);
	members_remember(&m, &super);
	publish(&m, 2, 0, 1);
	shows(1, 2, 0); /* some groups can lose nobody */
	members_keep_groups(&m, kept);
	assert_int_equal(members_spare(&m), 1);
	super = publish(&m, 2, 0, COUNT);
	members_remember(&m, &super);
	publish(&m, 3, 0, 1);
	shows(2, 2, 1);
	volume.members[1].bytes[address_offset(superblock_of(1, 2).catalogue_address)] ^= 1;
	shows(2, 2, 2); /* another one has it */
	volume.members[1].bytes[address_offset(superblock_of(1, 2).catalogue_address)] ^= 1;
	shows(3, 3, 0); /* it was seen */
	loads(3, 0);
	CHECK_OK(catalogue_load_newest(&volume.source, &super, &err));
	assert_int_equal(super.sequence, 3);
	volume.is_missing[0] = true;
	shows(2, 2, 1);
	publish(&m, 3, 1, 2);
	shows(2, 2, 2);
	CHECK_OK(catalogue_load_newest(&volume.source, &super, &err));
	assert_int_equal(super.member, 1);
	volume.is_missing[2] = true; /* nobody else is there to show it */
	shows(2, 3, 1);
	volume.is_missing[0] = volume.is_missing[2] = false;
	shows(2, 3, 0);
}

/* Both halves of a volume were published without the other. */
static void branches(void **state)
{
	struct members other = plain_members();
	struct superblock before;

	before = publish(&m, 1, 0, COUNT);
	members_remember(&m, &before);
	members_remember(&other, &before);
	other.nonce = 5;
	publish(&m, 2, 0, 1);
	publish(&other, 2, 1, COUNT);
	does_not_load(-EBADMSG,
		      "member 1 ('nvme:uuid:of-one') is of another branch, superblock 2 of it did not come before 2");
	publish(&m, 3, 0, 1);
	does_not_load(-EBADMSG, "of another branch, superblock 2 of it did not come before 3");
	members_free(&other);
}

static void strangers(void **state)
{
	struct memory one;

	publish(&m, 1, 0, COUNT);
	one = volume.members[1], volume.members[1] = volume.members[2], volume.members[2] = one;
	does_not_load(-ENOLINK, "2 of 3 members are missing: member 1 (nvme:uuid:of-one "
		      "02000000-0000-0000-0000-000000000000): member 2 in its place");
	one = volume.members[1], volume.members[1] = volume.members[2], volume.members[2] = one;
	m.list[2].uuid[0] = 99; /* its superblock has the UUID 3 */
	publish(&m, 2, 0, COUNT - 1);
	does_not_load(-ENOLINK,
		      "member 2 (63000000-0000-0000-0000-000000000000): another member in its place");
}

/* Every superblock agrees with the table, not only the one that led to it. */
static void another_size(void **state)
{
	struct superblock super;

	super = publish(&m, 1, 0, COUNT);
	super.member_size -= 4096;
	CHECK_OK(superblock_write(&volume.source, &super, &err));
	does_not_load(-EBADMSG, "member 2 has another UUID or size in its superblock");
}

/* No copy of the catalogue may lie in a group, on whichever member. */
static void catalogue_in_a_column(void **state)
{
	const struct member_group group = { .birth = 1, .tail = 4096, .kind = DSFS_GROUP_COPIES, .data = 1 };
	const uint64_t column = UINT64_C(1) << 56 | 2 * MIB;
	struct superblock super;

	CHECK_OK(members_add_group(&m, &group, &column, &err));
	super = publish(&m, 1, 0, COUNT);
	loads(1, 0);
	super.member = 1, super.member_uuid[0] = 2, super.catalogue_address = column;
	memcpy(volume.members[1].bytes + 2 * MIB, volume.members[1].bytes + DSFS_DATA_AT + 8192, 8192);
	CHECK_OK(superblock_write(&volume.source, &super, &err));
	does_not_load(-EBADMSG, "the column at 0x100000000200000 holds a catalogue");
}

#define VOLUME_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

CHECK_MAIN(cmocka_unit_test(round_trip), cmocka_unit_test(refused_members), cmocka_unit_test(refused_groups),
	   cmocka_unit_test(refused_versions), cmocka_unit_test(refused_bytes), cmocka_unit_test(look_ups),
	   cmocka_unit_test(history), cmocka_unit_test(extents), cmocka_unit_test(chunks), VOLUME_TEST(all_at_one),
	   VOLUME_TEST(missing_ones), VOLUME_TEST(one_step_behind), VOLUME_TEST(further_behind),
	   VOLUME_TEST(stale_and_needed), VOLUME_TEST(stale_for_long), VOLUME_TEST(missing_and_copied),
	   VOLUME_TEST(shown_by_enough), VOLUME_TEST(branches), VOLUME_TEST(strangers), VOLUME_TEST(another_size),
	   VOLUME_TEST(catalogue_in_a_column))
