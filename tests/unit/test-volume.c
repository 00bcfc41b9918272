/* SPDX-License-Identifier: MIT */
/* Superblock ring and catalogue: round trips, the newest valid slot, and every field out of range. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "image/catalogue/catalogue.h"
#include "image/members/address.h"
#include "image/members/publisher.h"
#include "image/members/superblock.h"
#include "image/sums/checksum.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/memory.h"

#define SIZE (4u << 20)

static const struct superblock good = {
	.volume_uuid = "0123456789abcde",
	.sequence = 1,
	.member_size = SIZE,
	.member_count = 1,
	.segment_log = 24,
	.catalogue_address = DSFS_DATA_AT,
	.catalogue_length = 4096,
	.identity = "uuid.test",
};

static void test_superblock_round_trip(void **state)
{
	struct dsfs_superblock disk;
	struct superblock super;

	superblock_encode(&good, &disk);
	CHECK_OK(superblock_decode(&disk, &super, &err));
	assert_memory_equal(&super, &good, sizeof(super));
}

/* Encodes with one field changed and expects this reason. */
static void superblock_refused(struct superblock super, int code, const char *reason)
{
	struct dsfs_superblock disk;

	superblock_encode(&super, &disk);
	CHECK_FAILS(superblock_decode(&disk, &super, &err), code, reason);
}

static void test_superblock_fields(void **state)
{
	struct superblock s;

	s = good, s.segment_log = 19, superblock_refused(s, -EBADMSG, "segment size 2^19");
	s = good, s.segment_log = 31, superblock_refused(s, -EBADMSG, "segment size 2^31");
	s = good, s.member_count = 2, superblock_refused(s, -EBADMSG, "member 0 of 2");
	s = good, s.member = 1, superblock_refused(s, -EBADMSG, "member 1 of 1");
	s = good, s.member_uuid[0] = 1, superblock_refused(s, -EBADMSG, "go together");
	s = good, s.feature_incompat = DSFS_INCOMPAT_MEMBERS;
	superblock_refused(s, -EBADMSG, "go together");
	s = good, s.sequence = 0, superblock_refused(s, -EBADMSG, "sequence 0");
	s = good, s.member_size = SIZE + 1, superblock_refused(s, -EBADMSG, "multiple of 4096");
	s = good, s.member_size = UINT64_MAX - 4095, superblock_refused(s, -EBADMSG, "outside the volume");
	s = good, s.catalogue_length = 63, superblock_refused(s, -EBADMSG, "catalogue of 63 bytes");
	s = good, s.catalogue_length = UINT64_MAX, superblock_refused(s, -EBADMSG, "catalogue of");
	s = good, s.catalogue_length = SIZE, superblock_refused(s, -EBADMSG, "outside the volume");
	s = good, s.catalogue_address = 0, superblock_refused(s, -EBADMSG, "outside the volume");
	s = good, s.catalogue_address = SIZE + 4096, superblock_refused(s, -EBADMSG, "outside the volume");
	s = good, s.catalogue_address += 512, superblock_refused(s, -EBADMSG, "outside the volume");
	s = good, s.catalogue_address = address_make(1, DSFS_DATA_AT);
	superblock_refused(s, -EBADMSG, "outside the volume");
}

static void reseal(struct dsfs_superblock *disk)
{
	disk->checksum = dsfs_le64_of(checksum_64(disk, sizeof(*disk) - 8));
}

static void test_superblock_head(void **state)
{
	struct dsfs_superblock disk;
	struct superblock super;

	superblock_encode(&good, &disk);
	disk.reserved[7] ^= 1;
	CHECK_FAILS(superblock_decode(&disk, &super, &err), -EBADMSG, "checksum");
	superblock_encode(&good, &disk);
	disk.magic[0] = 0;
	CHECK_FAILS(superblock_decode(&disk, &super, &err), -EBADMSG, "not a datasetfs volume");
	memcpy(disk.magic, "LUKS\xba\xbe\0\2", sizeof(disk.magic));
	CHECK_FAILS(superblock_decode(&disk, &super, &err), -EBADMSG, "encrypted by LUKS and not open on this host");
	superblock_encode(&good, &disk);
	disk.format = dsfs_le32_of(2);
	reseal(&disk);
	CHECK_FAILS(superblock_decode(&disk, &super, &err), -EOPNOTSUPP, "format 2, this release reads 1");
	superblock_encode(&good, &disk);
	disk.feature_incompat = dsfs_le64_of(1u << 30);
	reseal(&disk);
	CHECK_FAILS(superblock_decode(&disk, &super, &err), -EOPNOTSUPP, "features 0x40000000");
	superblock_encode(&good, &disk);
	disk.feature_compat = dsfs_le64_of(1u << 30); /* unknown but compatible */
	reseal(&disk);
	CHECK_OK(superblock_decode(&disk, &super, &err));
	assert_int_equal(super.feature_compat, 1u << 30);
}

static void test_ring_takes_the_newest_valid(void **state)
{
	struct superblock super = good, found;
	struct memory memory;

	memory_init(&memory, SIZE);
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EBADMSG, "not a datasetfs volume");
	for (super.sequence = 1; super.sequence <= 20; super.sequence++) {
		CHECK_OK(superblock_write(&memory.source, &super, &err));
		CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
		assert_int_equal(found.sequence, super.sequence);
	}
	memory.bytes[20 % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING + 100] ^= 1;
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_int_equal(found.sequence, 19);
	for (unsigned slot = 0; slot < DSFS_SLOT_COUNT; slot++)
		memory.bytes[slot * DSFS_SLOT_SPACING + 100] = 0xee;
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EBADMSG, "checksum");
	memory_done(&memory);
}

/* A publisher that formats whatever is not a volume must not take one for blank because of a read that failed. */
static void test_ring_seen(void **state)
{
	struct superblock super = good;
	struct memory memory;
	bool seen = true;

	memory_init(&memory, SIZE);
	CHECK_OK(superblock_seen(&memory.source, 0, &seen, &err));
	assert_false(seen);
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	memory.bytes[DSFS_SLOT_SPACING + 100] ^= 1; /* damaged and ours all the same */
	for (uint64_t call = 1; call <= 2; call++) {
		seen = false;
		memory.calls = 0;
		memory.fail_at = call;
		if (call == 2) /* the only slot that was ever written */
			CHECK_FAILS(superblock_seen(&memory.source, 0, &seen, &err), -EIO,
				    "so a volume may lie there: injected");
		else
			CHECK_OK(superblock_seen(&memory.source, 0, &seen, &err));
		assert_int_equal(seen, call != 2);
	}
	memory.size = DSFS_SLOT_SPACING; /* the end is no failure */
	CHECK_OK(superblock_seen(&memory.source, 0, &seen, &err));
	assert_false(seen);
	memory_done(&memory);
}

/* A slot that a publisher tore looks like the newest one damaged: both are told. */
static void test_ring_doubt(void **state)
{
	struct superblock super = good, found;
	struct error why = { 0 };
	struct memory memory;

	memory_init(&memory, SIZE);
	for (super.sequence = 1; super.sequence <= 12; super.sequence++)
		CHECK_OK(superblock_write(&memory.source, &super, &err));
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_false(superblock_may_be_stale(&found, &why));
	memory.bytes[11 % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING + 100] ^= 1; /* older than the newest */
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_false(superblock_may_be_stale(&found, &why));
	memory.bytes[12 % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING + 100] ^= 1;
	memory.bytes[11 % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING + 100] ^= 1;
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_int_equal(found.sequence, 11);
	assert_true(superblock_may_be_stale(&found, &why));
	assert_string_equal(why.reason, "superblock slot 4 is damaged or cannot be read and may have been the newest, "
					"going on from sequence 11");
	super.sequence = 12;
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_false(superblock_may_be_stale(&found, &why));
	memory.fail_at = memory.calls + 1 + 13 % DSFS_SLOT_COUNT;
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_true(superblock_may_be_stale(&found, &why));
	memset(memory.bytes + 13 % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING, 0, DSFS_BLOCK); /* never written */
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_false(superblock_may_be_stale(&found, &why));
	memory_done(&memory);
}

static int check_newest(struct memory *memory, uint64_t sequence, struct error *error)
{
	struct superblock_ring ring = { 0 };

	superblock_read_rings(&memory->source, 0, &ring, 1);
	return superblock_check_newest(&ring, sequence, error);
}

/* A reader does with an older superblock; who changes the volume must not go on from one. */
static void test_ring_newest_cannot_be_read(void **state)
{
	struct superblock super = good, found;
	struct memory memory;

	memory_init(&memory, SIZE);
	for (super.sequence = 1; super.sequence <= 3; super.sequence++)
		CHECK_OK(superblock_write(&memory.source, &super, &err));
	CHECK_OK(check_newest(&memory, 3, &err));
	memory.fail_at = memory.calls + 1 + 3; /* slot 3 */
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	assert_int_equal(found.sequence, 2);
	CHECK_FAILS(check_newest(&memory, 2, &err), -ESTALE,
		    "superblock 3 is the newest, but 2 was found");
	memory.fail_at = memory.calls + 1 + 3;
	CHECK_FAILS(check_newest(&memory, 2, &err), -EIO, "may be the newest");
	memory_done(&memory);
}

/* A newer release published with a feature we do not know: the older slots must not be served instead. */
static void test_ring_refuses_what_is_newer(void **state)
{
	struct superblock super = good, found;
	struct dsfs_superblock disk;
	struct memory memory;

	memory_init(&memory, SIZE);
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	super.sequence = 2;
	superblock_encode(&super, &disk);
	disk.feature_incompat = dsfs_le64_of(4);
	reseal(&disk);
	memcpy(memory.bytes + 2 * DSFS_SLOT_SPACING, &disk, sizeof(disk));
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EOPNOTSUPP, "features 0x4");
	super.sequence = 3;
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	CHECK_OK(superblock_find(&memory.source, 0, &found, &err));
	memory_done(&memory);
}

static void test_ring_slot_and_size(void **state)
{
	struct superblock super = good, found;
	struct dsfs_superblock disk;
	struct memory memory;

	memory_init(&memory, SIZE);
	superblock_encode(&super, &disk);
	memcpy(memory.bytes + 2 * DSFS_SLOT_SPACING, &disk, sizeof(disk)); /* belongs in slot 1 */
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EBADMSG, "slot 2 holds sequence 1");
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	memory.size = SIZE - 4096;
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EBADMSG, "truncated");
	memory.size = 4096;
	CHECK_FAILS(superblock_find(&memory.source, 0, &found, &err), -EBADMSG,
		    "not a datasetfs volume: it has only 4096 bytes");
	memory_done(&memory);
}

static void test_publisher_record(void **state)
{
	char host[257];
	uint64_t process, since;
	struct memory memory;

	memory_init(&memory, SIZE);
	assert_false(publisher_read(&memory.source, 0, host, &process, &since));
	CHECK_OK(publisher_write(&memory.source, 0, "node7", 42, 1700000000, &err));
	assert_true(publisher_read(&memory.source, 0, host, &process, &since));
	assert_string_equal(host, "node7");
	assert_int_equal(process, 42);
	assert_int_equal(since, 1700000000);
	CHECK_OK(publisher_write(&memory.source, 0, NULL, 0, 0, &err));
	assert_false(publisher_read(&memory.source, 0, host, &process, &since));
	memory_done(&memory);
}

/* A catalogue of two versions as the packer would leave it. */
static void add_version(struct catalogue *catalogue, const char *label, uint64_t sequence)
{
	struct version version = { .sequence = sequence, .chunk_log = 17 };

	snprintf(version.label, sizeof(version.label), "%s", label);
	version.shape = (struct index_shape){ .names_length = 8192, .inode_count = 1, .class_count = 1,
					      .chunk_sum = DSFS_SUM_XXH3_64 };
	version.index.length = 8192 + 3 * 4096 - 4096;
	version.segments.items = calloc(1, sizeof(struct extent));
	version.segments.items[0] = (struct extent){ 0, 1u << 24 };
	version.segments.count = 1;
	version.index.extents.items = calloc(2, sizeof(struct extent));
	version.index.extents.items[0] = (struct extent){ DSFS_DATA_AT, 4096 };
	version.index.extents.items[1] = (struct extent){ DSFS_DATA_AT + 8192, version.index.length - 4096 };
	version.index.extents.count = 2;
	CHECK_OK(catalogue_append(catalogue, &version, &err));
}

static struct catalogue make_catalogue(void)
{
	struct catalogue catalogue = { .next_sequence = 6, .current = 3, .tail = DSFS_DATA_AT + 65536 };

	memcpy(catalogue.volume_uuid, good.volume_uuid, sizeof(catalogue.volume_uuid));
	add_version(&catalogue, "v1", 3);
	add_version(&catalogue, "v2", 5);
	return catalogue;
}

static void test_catalogue_round_trip(void **state)
{
	struct catalogue catalogue = make_catalogue(), found = { 0 };
	uint64_t length, again_length;
	uint8_t *bytes, *again;

	catalogue.versions[1].feature_compat = 1u << 20;
	CHECK_OK(catalogue_encode(&catalogue, &bytes, &length, &err));
	CHECK_OK(catalogue_decode(bytes, length, &good, &found, &err));
	assert_int_equal(found.version_count, 2);
	assert_string_equal(catalogue_current(&found)->label, "v1");
	assert_int_equal(catalogue_by_label(&found, "v2")->sequence, 5);
	assert_null(catalogue_by_label(&found, "v3"));
	assert_null(catalogue_by_sequence(&found, 4));
	CHECK_OK(catalogue_encode(&found, &again, &again_length, &err));
	assert_int_equal(found.versions[1].feature_compat, 1u << 20);
	assert_int_equal(length, again_length);
	assert_memory_equal(bytes, again, length);
	free(bytes);
	free(again);
	catalogue_free(&catalogue);
	catalogue_free(&found);
}

/* Encodes the catalogue as it is and expects decoding to fail with this reason; frees it. */
static void catalogue_refused(struct catalogue *catalogue, const char *reason)
{
	struct catalogue found = { 0 };
	uint64_t length;
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(catalogue, &bytes, &length, &err));
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, reason);
	free(bytes);
	catalogue_free(catalogue);
}

static void set_section(struct version_section *section, uint64_t address, uint64_t length)
{
	CHECK_OK(extent_list_add(&section->extents, address, length, &err));
	section->length = length;
}

static void test_catalogue_fields(void **state)
{
	struct catalogue c;

	c = make_catalogue(), c.current = 4, catalogue_refused(&c, "current version 4 does not exist");
	c = make_catalogue(), c.next_sequence = 5, catalogue_refused(&c, "has sequence 5 after 3, next is 5");
	c = make_catalogue(), c.next_sequence = UINT64_MAX, catalogue_refused(&c, "next sequence");
	c = make_catalogue(), c.tail = SIZE + 4096, catalogue_refused(&c, "tail");
	c = make_catalogue(), c.tail = 4096, catalogue_refused(&c, "tail");
	c = make_catalogue(), c.volume_uuid[0] ^= 1, catalogue_refused(&c, "another volume");
	c = make_catalogue(), c.versions[1].sequence = 3, catalogue_refused(&c, "has sequence 3 after 3");
	c = make_catalogue(), strcpy(c.versions[1].label, "v1"), catalogue_refused(&c, "occurs twice");
	c = make_catalogue(), strcpy(c.versions[0].label, "../x"), catalogue_refused(&c, "bad label");
	c = make_catalogue(), c.versions[0].label[0] = 0, catalogue_refused(&c, "bad label");
	c = make_catalogue(), c.versions[0].chunk_log = 11, catalogue_refused(&c, "chunk size 2^11");
	c = make_catalogue(), c.versions[0].chunk_log = 21, catalogue_refused(&c, "chunk size 2^21");
	c = make_catalogue(), c.versions[0].shape.names_length = 100, catalogue_refused(&c, "impossible sizes");
	c = make_catalogue(), c.versions[0].shape.inode_count = UINT64_MAX, catalogue_refused(&c, "impossible sizes");
	c = make_catalogue(), c.versions[0].shape.blob_length = SIZE, catalogue_refused(&c, "in a volume of");
	c = make_catalogue(), c.versions[0].shape.inode_count = 0, catalogue_refused(&c, "parts need");
	c = make_catalogue(), c.versions[1].file_count = 2;
	catalogue_refused(&c, "2 files, expected at most its 1 inodes");
	c = make_catalogue(), c.versions[0].index.length += 4096, catalogue_refused(&c, "parts need");
	c = make_catalogue(), c.versions[0].index.extents.items[0].length = UINT64_MAX;
	catalogue_refused(&c, "outside the volume");
	c = make_catalogue(), c.versions[0].index.extents.items[1].length += 4096, catalogue_refused(&c, "parts need");
	c = make_catalogue(), c.versions[0].index.extents.items[1].address = SIZE;
	catalogue_refused(&c, "outside the volume");
	c = make_catalogue(), c.versions[0].index.extents.items[1].address += 1;
	catalogue_refused(&c, "not aligned to 4096");
	c = make_catalogue(), c.versions[0].segments.items[0].address = 4096;
	catalogue_refused(&c, "not aligned to 16777216");
	c = make_catalogue(), c.versions[0].index.extents.items[0].length = 4095;
	c.versions[0].index.extents.items[1].length += 1;
	catalogue_refused(&c, "index extent of 4095 bytes, expected whole blocks");
	c = make_catalogue(), set_section(&c.versions[0].source, SIZE, 1);
	catalogue_refused(&c, "source section");
	c = make_catalogue(), set_section(&c.versions[0].block_sums, SIZE, 1);
	catalogue_refused(&c, "block checksums");
}

/* Segments of 1 MiB; those of the first version. */
static void segments_refused(const struct extent *segments, uint32_t count, const char *reason)
{
	struct superblock super = good;
	struct catalogue c = make_catalogue(), found = { 0 };
	uint64_t length;
	uint8_t *bytes;

	super.segment_log = 20;
	c.versions[0].segments.items = realloc(c.versions[0].segments.items, count * sizeof(*segments));
	memcpy(c.versions[0].segments.items, segments, count * sizeof(*segments));
	c.versions[0].segments.count = count;
	c.versions[1].segments.items[0].length = 1u << 20;
	CHECK_OK(catalogue_encode(&c, &bytes, &length, &err));
	if (reason)
		CHECK_FAILS(catalogue_decode(bytes, length, &super, &found, &err), -EBADMSG, reason);
	else
		CHECK_OK(catalogue_decode(bytes, length, &super, &found, &err));
	free(bytes);
	catalogue_free(&found);
	catalogue_free(&c);
}

/* A volume has few segments, so that no list of them is long: a million equal ones made a list take a minute. */
static void test_catalogue_segments(void **state)
{
	const struct extent ascending[] = { { 0, 1u << 20 }, { 1u << 20, 1u << 20 }, { 3u << 20, 1u << 20 } };
	const struct extent equal[] = { { 0, 1u << 20 }, { 0, 1u << 20 } };
	const struct extent overlapping[] = { { 0, 2u << 20 }, { 1u << 20, 1u << 20 } };
	const struct extent descending[] = { { 1u << 20, 1u << 20 }, { 0, 1u << 20 } };

	segments_refused(ascending, 3, NULL);
	segments_refused(equal, 2, "segments at 0 come after those up to 0x100000");
	segments_refused(overlapping, 2, "segments at 0x100000 come after those up to 0x200000");
	segments_refused(descending, 2, "segments at 0 come after those up to 0x200000");
}

/* A volume that a newer release wrote may be read, and is not written anew by this one. */
static void test_catalogue_writable(void **state)
{
	struct catalogue c = make_catalogue();
	struct superblock super = good;

	c.versions[0].feature_incompat = DSFS_VERSION_INCOMPAT_ZSTD;
	CHECK_OK(catalogue_check_writable(&super, &c, &err));
	super.feature_compat = 8;
	CHECK_FAILS(catalogue_check_writable(&super, &c, &err), -EOPNOTSUPP,
		    "superblock: written by a newer datasetfs, unknown features 0x8");
	super = good;
	c.versions[0].feature_incompat |= 16;
	CHECK_FAILS(catalogue_check_writable(&super, &c, &err), -EOPNOTSUPP,
		    "version 'v1': written by a newer datasetfs, unknown features 0 and 0x10");
	c.versions[0].feature_incompat = 0;
	c.versions[1].feature_compat = 32;
	CHECK_FAILS(catalogue_check_writable(&super, &c, &err), -EOPNOTSUPP,
		    "version 'v2': written by a newer datasetfs, unknown features 0x20 and 0");
	catalogue_free(&c);
}

static void test_catalogue_counts(void **state)
{
	struct catalogue c = make_catalogue(), found = { 0 };
	struct dsfs_catalogue *head;
	uint64_t length;
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(&c, &bytes, &length, &err));
	head = (struct dsfs_catalogue *)bytes;
	head->version_count = dsfs_le32_of(0xffffffff);
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "do not fit");
	head->version_count = dsfs_le32_of(2);
	head->extent_count = dsfs_le32_of(5); /* the second version lists 3..6 */
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "index extents 4+2 of 5");
	head->extent_count = dsfs_le32_of(6);
	((struct dsfs_version *)(head + 1))[1].first_segment = dsfs_le32_of(0); /* shared with the first version */
	CHECK_FAILS(catalogue_decode(bytes, length, &good, &found, &err), -EBADMSG, "expected to begin at 3");
	((struct dsfs_version *)(head + 1))[1].first_segment = dsfs_le32_of(3);
	for (uint64_t cut = 0; cut < 64 + 2 * 512 + 6 * 16; cut += 8)
		CHECK_FAILS(catalogue_decode(bytes, cut, &good, &found, &err), -EBADMSG, "catalogue");
	free(bytes);
	catalogue_free(&c);
}

/* The superblock names a catalogue; a newer superblock may appear while it is being read. */
static void write_volume(struct memory *memory, struct superblock *super, const struct catalogue *catalogue)
{
	uint8_t *bytes;

	CHECK_OK(catalogue_encode(catalogue, &bytes, &super->catalogue_length, &err));
	CHECK_OK(sha256_of(bytes, super->catalogue_length, super->catalogue_sha256, &err));
	CHECK_OK(source_write(&memory->source, 0, super->catalogue_address, bytes, super->catalogue_length, &err));
	CHECK_OK(superblock_write(&memory->source, super, &err));
	free(bytes);
}

static void test_catalogue_load(void **state)
{
	struct catalogue catalogue = make_catalogue(), found = { 0 };
	struct superblock super = good, got;
	struct memory memory;

	memory_init(&memory, SIZE);
	write_volume(&memory, &super, &catalogue);
	CHECK_OK(catalogue_load(&memory.source, NULL, &got, &found, &err));
	assert_int_equal(found.version_count, 2);
	catalogue_free(&found);
	for (uint64_t call = 1; call <= DSFS_SLOT_COUNT + 1; call++) {
		bool matters = call == 2 || call == DSFS_SLOT_COUNT + 1; /* the one valid slot, the catalogue */

		memory.calls = 0;
		memory.fail_at = call;
		if (matters)
			CHECK_FAILS(catalogue_load(&memory.source, NULL, &got, &found, &err), -EIO, "injected");
		else
			CHECK_OK(catalogue_load(&memory.source, NULL, &got, &found, &err));
		catalogue_free(&found);
	}
	memory.fail_at = 0;
	memory.bytes[DSFS_DATA_AT + 70] ^= 1;
	CHECK_FAILS(catalogue_load(&memory.source, NULL, &got, &found, &err), -EBADMSG, "SHA-256 is not the one");
	memory_done(&memory);
	catalogue_free(&catalogue);
}

static void test_labels(void **state)
{
	char longest[200];

	CHECK_OK(version_check_label("imagenet-2026.11_v7+fix@a:b", &err));
	CHECK_FAILS(version_check_label("", &err), -EINVAL, "0 bytes");
	CHECK_FAILS(version_check_label(".hidden", &err), -EINVAL, "expected letters");
	CHECK_FAILS(version_check_label("-x", &err), -EINVAL, "expected letters");
	CHECK_FAILS(version_check_label("a/b", &err), -EINVAL, "expected letters");
	memset(longest, 'x', sizeof(longest));
	longest[DSFS_LABEL_MAX] = 0;
	CHECK_OK(version_check_label(longest, &err));
	longest[DSFS_LABEL_MAX] = 'x';
	longest[DSFS_LABEL_MAX + 1] = 0;
	CHECK_FAILS(version_check_label(longest, &err), -EINVAL, "128 bytes");
}

CHECK_MAIN(cmocka_unit_test(test_superblock_round_trip), cmocka_unit_test(test_superblock_fields),
	   cmocka_unit_test(test_superblock_head), cmocka_unit_test(test_ring_takes_the_newest_valid),
	   cmocka_unit_test(test_ring_seen), cmocka_unit_test(test_ring_doubt),
	   cmocka_unit_test(test_ring_newest_cannot_be_read), cmocka_unit_test(test_ring_refuses_what_is_newer),
	   cmocka_unit_test(test_ring_slot_and_size), cmocka_unit_test(test_publisher_record),
	   cmocka_unit_test(test_catalogue_round_trip), cmocka_unit_test(test_catalogue_fields),
	   cmocka_unit_test(test_catalogue_segments), cmocka_unit_test(test_catalogue_writable),
	   cmocka_unit_test(test_catalogue_counts), cmocka_unit_test(test_catalogue_load),
	   cmocka_unit_test(test_labels))
