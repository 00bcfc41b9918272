/* SPDX-License-Identifier: MIT */
/* A version that one process has open is opened by another one from its record and index, without the volume. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/catalogue/index_load.h"
#include "image/chunk.h"
#include "image/members/address.h"
#include "image/records.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/multi_member.h"
#include "lib/rows.h"
#include "lib/section.h"
#include "opened/version_record.h"
#include "serve/version/generation.h"

#define SIZE (8u << 20)
#define HERE (2u << 20)           /* the segment with all of the version, on the first member */
#define SUMS (HERE + (512u << 10))
#define KEY  77
#define HOLES 8 /* chunks, so that the file is a large one */

static struct section section;
static struct multi_member volume;
static struct members none, mirror;
static struct version version;
static struct generation *generation;
static struct error damage; /* why the version was opened without its block checksums */

/* Two members with a group of two copies; the second one lacks newer groups. */
static void make_mirror(void)
{
	const uint64_t columns[2] = { address_make(0, HERE), address_make(1, 3 << 20) };
	const struct member_group group = {
		.birth = 5, .tail = 1 << 20, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1
	};

	mirror = (struct members){ .segment_log = 20, .nonce = 4, .count = 2, .history = { { 8, "h8" } },
				   .history_count = 1, .list = calloc(2, sizeof(*mirror.list)) };
	for (uint32_t i = 0; i < 2; i++)
		mirror.list[i] = (struct member){ .uuid = { (uint8_t)(i + 1) }, .size = SIZE, .identity = "disk" };
	mirror.list[1].missing_from = 9;
	CHECK_OK(members_add_group(&mirror, &group, columns, &err));
}

/* Two files with content, of which one has a hole, a symlink, and attributes. */
static void make_section(void)
{
	section_init(&section);
	section_chunk(&section, HERE + 65536, 1, 131072, DSFS_CODEC_RAW);
	for (int i = 0; i < HOLES; i++)
		section_chunk(&section, 0, 0, 0, DSFS_CODEC_RAW);
	section_chunk(&section, HERE + 196608, 2, 77, DSFS_CODEC_ZSTD);
	section_directory(&section, INODE_ROOT, "a");
	section_file(&section, INODE_ROOT, "b", (HOLES + 1) * 131072 + 1000, 0);
	section.inodes[2].sparse = true;
	section_symlink(&section, INODE_ROOT, "c", "a/f");
	section_file(&section, 2, "f", 0, 0);
	section_xattr(&section, 2, "user.a", 1);
	section_xattr(&section, 3, "user.b", 1);
}

static void write_volume(uint64_t offset, const void *bytes, uint64_t length)
{
	CHECK_OK(source_write(&volume.source, 0, offset, bytes, length, &err));
}

static void make_version(void)
{
	const struct rows_chunk rows[] = { { 0, "row", 3 } };
	int fd = section_write(&section, &version);
	void *map = mmap(NULL, version.index.length, PROT_READ, MAP_SHARED, fd, 0);
	struct block_sums_layout layout;
	uint8_t *sums;

	assert_true(map != MAP_FAILED);
	write_volume(HERE, map, version.index.length);
	CHECK_OK(sha256_of(map, version.index.length, version.index.sha256, &err));
	CHECK_OK(extent_list_add(&version.index.extents, HERE, version.index.length, &err));
	CHECK_OK(extent_list_add(&version.segments, HERE, 1 << 20, &err));
	munmap(map, version.index.length);
	close(fd);
	sums = rows_section(&version, SUMS, rows, 1);
	block_sums_layout(version.shape.chunk_sum, version.chunk_log, version.shape.chunk_count, 1, &layout);
	write_volume(SUMS, sums, layout.length);
	free(sums);
	version.source.length = 100;
	CHECK_OK(extent_list_add(&version.source.extents, SUMS + (256u << 10), 100, &err));
	version.sequence = 7;
	version.uuid[0] = 1;
}

static struct generation *open_new(const struct members *members)
{
	struct opened_version opened = { .hidden_mode = 06000 };
	struct generation *ret;

	damage = (struct error){ .reason = "" };
	CHECK_OK(opened_version_load(backing_of(&volume.source, members), &version, &opened, &damage, &err));
	CHECK_OK(generation_open(&opened, &ret, &err));
	assert_null(opened.index);
	return ret;
}

static void open_on(const struct members *members)
{
	generation = open_new(members);
	generation->key = KEY;
}

static int setup(void **state)
{
	multi_member_init(&volume, 2, SIZE);
	make_mirror();
	make_section();
	make_version();
	return 0;
}

static int teardown(void **state)
{
	generation_put(generation);
	generation = NULL;
	version_free(&version);
	members_free(&mirror);
	multi_member_done(&volume);
	return 0;
}

static void same_list(const struct extent_list *a, const struct extent_list *b)
{
	assert_int_equal(a->count, b->count);
	assert_int_not_equal(a->count, 0);
	assert_memory_equal(a->items, b->items, a->count * sizeof(*a->items));
}

static void same_version(const struct version *a, const struct version *b)
{
	struct version x = *a, y = *b;

	same_list(&a->segments, &b->segments);
	same_list(&a->index.extents, &b->index.extents);
	same_list(&a->source.extents, &b->source.extents);
	same_list(&a->block_sums.extents, &b->block_sums.extents);
	version_disown_lists(&x);
	version_disown_lists(&y);
	assert_memory_equal(&x, &y, sizeof(x));
}

static int count_xattr(void *argument, struct span name, struct span value)
{
	++*(int *)argument;
	return 0;
}

static void same_index(const struct index *a, const struct index *b)
{
	struct inode inode;
	int count = 0;

	assert_true(b->is_measured);
	assert_int_equal(a->sparse_count, 1);
	assert_int_equal(b->sparse_count, 1);
	assert_memory_equal(a->sparse, b->sparse, sizeof(*a->sparse));
	CHECK_OK(inode_get(b, 3, &inode, &err));
	assert_int_equal(records_hole_bytes(b, &inode), HOLES * 131072);
	CHECK_OK(inode_xattrs(b, &inode, count_xattr, &count, &err));
	assert_int_equal(count, 1);
	assert_int_equal(a->member_count, b->member_count);
	assert_memory_equal(a->member_sizes, b->member_sizes, a->member_count * sizeof(*a->member_sizes));
}

static void same_members(const struct members *a, const struct members *b)
{
	assert_int_equal(a->count, b->count);
	for (uint32_t i = 0; i < a->count; i++) {
		assert_memory_equal(a->list[i].uuid, b->list[i].uuid, sizeof(a->list[i].uuid));
		assert_string_equal(a->list[i].identity, b->list[i].identity);
		assert_int_equal(a->list[i].missing_from, b->list[i].missing_from);
	}
	assert_int_equal(a->group_count, b->group_count);
	assert_int_equal(a->nonce, b->nonce);
	assert_int_equal(a->history_count, b->history_count);
}

/* Returns the version as the next process opens it. */
static struct generation *adopt(void)
{
	struct generation *next;
	struct error why = { 0 };
	int record = fcntl(generation->record, F_DUPFD_CLOEXEC, 0);
	int index = fcntl(generation->opened.index->memfd, F_DUPFD_CLOEXEC, 0);

	if (generation_adopt(&record, &index, KEY, &next, &why) < 0)
		fail_msg("%s", why.reason);
	return next;
}

static void check_adopted(void)
{
	struct generation *next = adopt(), *later;
	struct block_sums_row row;
	struct sum sums[2];
	uint64_t ordinal;

	same_version(&generation->opened.version, &next->opened.version);
	same_index(generation->opened.index, next->opened.index);
	same_members(&generation->opened.index->members, &next->opened.index->members);
	assert_true(block_sums_find(next->opened.block_sums, 0, &row));
	assert_false(block_sums_find(next->opened.block_sums, 2, &row));
	sums[0] = block_sums_page_sum(generation->opened.block_sums, 0);
	sums[1] = block_sums_page_sum(next->opened.block_sums, 0);
	assert_true(sum_is_same(&sums[0], &sums[1]));
	assert_int_equal(block_sums_page_address(next->opened.block_sums, 0),
			 block_sums_page_address(generation->opened.block_sums, 0));
	assert_int_equal(names_lookup(next->opened.index->names, 2, "f", 1, &ordinal), 0);
	assert_int_equal(ordinal, 5);
	assert_int_equal(next->key, KEY);
	assert_int_equal(next->sequence, 7);
	assert_int_equal(next->opened.hidden_mode, 06000);
	assert_true(generation_is_unknown(next));
	assert_int_equal(generation_lookups(next), 0);
	assert_true(next->visited && next->has_absences);
	assert_false(next->root_pruned);
	generation_put(next);
	later = open_new(&none);
	assert_true(later->key > KEY);
	generation_put(later);
}

static void test_one_member(void **state)
{
	open_on(&none);
	check_adopted();
}

static void test_members(void **state)
{
	open_on(&mirror);
	check_adopted();
}

/* A device in a file may end in the middle of a segment, and segments be larger than the least size. */
static void test_short_last_segment(void **state)
{
	struct generation *next;

	extent_list_free(&version.segments);
	CHECK_OK(extent_list_add(&version.segments, 0, 16u << 20, &err));
	open_on(&none);
	next = adopt();
	same_version(&generation->opened.version, &next->opened.version);
	generation_put(next);
}

/* The version is served without them, also by the next process. */
static void test_damaged_block_sums(void **state)
{
	struct generation *next;

	memset(volume.members[0].bytes + SUMS, 0xee, DSFS_BLOCK);
	open_on(&none);
	assert_non_null(strstr(damage.reason, "block checksums"));
	assert_null(generation->opened.block_sums);
	next = adopt();
	assert_null(next->opened.block_sums);
	assert_int_equal(next->opened.version.block_sums.length, version.block_sums.length);
	generation_put(next);
}

static void test_files(void **state)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	int record, index, empty = memfd_create("record", MFD_CLOEXEC), null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct generation *next = NULL;

	open_on(&none);
	index = generation->opened.index->memfd;
	record = generation->record;
	assert_int_equal(fcntl(record, F_GET_SEALS), seals);
	assert_int_equal(fcntl(record, F_GETFD), FD_CLOEXEC);
	CHECK_FAILS(generation_adopt(&empty, &index, KEY, &next, &err), -EPROTO, "0 bytes that are no record");
	CHECK_FAILS(generation_adopt(&index, &index, KEY, &next, &err), -EPROTO, "that are no record");
	CHECK_FAILS(generation_adopt(&null, &index, KEY, &next, &err), -EPROTO, "is no file, or too long");
	CHECK_FAILS(generation_adopt(&record, &record, KEY, &next, &err), -EPROTO, "index: ");
	assert_null(next);
	assert_int_equal(fcntl(record, F_GETFD), FD_CLOEXEC); /* it stayed ours */
	close(empty);
	close(null);
}

/* The record of the generation as it is now. */
static void record_again(void)
{
	close(generation->record);
	CHECK_OK(opened_version_record(&generation->opened, &generation->record, &err));
}

/* A copy of the record that can be changed; free() it. */
static uint8_t *copy_record(uint64_t *ret_length)
{
	off_t end = lseek(generation->record, 0, SEEK_END);
	uint8_t *bytes = malloc((size_t)end);

	assert_non_null(bytes);
	assert_int_equal(pread(generation->record, bytes, (size_t)end, 0), end);
	*ret_length = (uint64_t)end;
	return bytes;
}

/* It is the same version wherever it lies and whoever has signed it, and for nothing else. */
static void test_same_version(void **state)
{
	struct version other = version;

	other.signature_bytes = 7;
	assert_true(version_is_same(&version, &other));
	other.places_seed++;
	assert_false(version_is_same(&version, &other));
	other = version;
	other.index.sha256[31]++;
	assert_false(version_is_same(&version, &other));
	other = version;
	other.label[0]++;
	assert_false(version_is_same(&version, &other));
}

/* It is refused for a reason, or can be used. */
static int decode(const uint8_t *bytes, uint64_t length)
{
	struct version_record record = { 0 };
	struct block_sums_row row;
	struct error why = { 0 };
	int r = version_record_decode(span_of(bytes, length), &record, &why);

	if (r == 0)
		(void)block_sums_find(record.block_sums, 0, &row);
	else
		assert_string_not_equal(why.reason, "");
	if (r == 0)
		version_record_free(&record);
	return r;
}

/* Whatever one byte of it is, and wherever it ends. */
static void test_damaged_records(void **state)
{
	uint64_t length;
	uint8_t *bytes;
	int r;

	open_on(&mirror);
	bytes = copy_record(&length);
	for (uint64_t at = 0; at < length; at++) {
		bytes[at] = (uint8_t)~bytes[at];
		r = decode(bytes, length);
		assert_true(r == 0 || r == -EPROTO || r == -EOPNOTSUPP);
		assert_true(r < 0 || at >= 12); /* magic and format */
		bytes[at] = (uint8_t)~bytes[at];
	}
	assert_int_equal(decode(bytes, length), 0);
	for (uint64_t end = 0; end < length; end += end < 200 ? 1 : 97)
		assert_int_equal(decode(bytes, end), -EPROTO);
	free(bytes);
}

/* Fields of the version that are refused, in a record of a volume of one member. */
static const struct {
	const char *reason;
	size_t at;
	uint64_t value;
	int code;
} wrongs[] = {
#define WRONG(reason, field, value) { reason, offsetof(struct dsfs_version, field), value, -EPROTO }
	WRONG("has a bad label", label, 0x0a61),
	WRONG("has sequence 16777216 after 0", sequence, 1 << 24),
	WRONG("has sequence 0 after 0", sequence, 0),
	{ "a newer release is needed", offsetof(struct dsfs_version, feature_incompat), UINT64_C(1) << 63,
	  -EOPNOTSUPP },
	{ "sums of kind 9", offsetof(struct dsfs_version, chunk_log), UINT64_C(9) << 32 | 17, -EOPNOTSUPP },
	WRONG("chunk size 2^40", chunk_log, UINT64_C(1) << 32 | 40),
	WRONG("its parts need", index_length, 4096),
	WRONG("the record of a version: ", names_length, UINT64_MAX - 4095),
	WRONG("the record of a version: ", inode_count, UINT64_C(1) << 45),
	WRONG("its parts need", inode_count, 0),
	WRONG("expected at most its", file_count, 1000),
	WRONG("is outside the volume", fine.address, SIZE),
	WRONG("is outside the volume", fine.length, UINT64_MAX),
	WRONG("is outside the volume", source.address, UINT64_C(1) << DSFS_ADDRESS_BITS),
};

static void test_refused_versions(void **state)
{
	struct version_record record = { 0 };
	uint64_t length;
	uint8_t *bytes, *at;

	open_on(&none);
	bytes = copy_record(&length);
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		uint64_t was;

		at = bytes + 64 + sizeof(struct dsfs_catalogue) + wrongs[i].at;
		memcpy(&was, at, sizeof(was));
		memcpy(at, &wrongs[i].value, sizeof(was));
		CHECK_FAILS(version_record_decode(span_of(bytes, length), &record, &err), wrongs[i].code,
			    wrongs[i].reason);
		memcpy(at, &was, sizeof(was));
	}
	free(bytes);
}

static void test_refused_records(void **state)
{
	struct version_record record = { 0 };
	uint64_t length;
	uint8_t *bytes;

	open_on(&none);
	bytes = copy_record(&length);
	bytes[8]++;
	CHECK_FAILS(version_record_decode(span_of(bytes, length), &record, &err), -EOPNOTSUPP,
		    "has format 4, this release knows 3");
	bytes[8]--;
	bytes[14] = 1; /* of hidden_mode */
	CHECK_FAILS(version_record_decode(span_of(bytes, length), &record, &err), -EPROTO, "hidden_mode=0206000");
	free(bytes);
	generation->opened.version.index.extents.items[0].address = SIZE;
	record_again();
	bytes = copy_record(&length);
	CHECK_FAILS(version_record_decode(span_of(bytes, length), &record, &err), -EPROTO, "outside the volume");
	free(bytes);
}

int main(void)
{
#define RECORD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		RECORD_TEST(test_one_member), RECORD_TEST(test_members), RECORD_TEST(test_short_last_segment),
		RECORD_TEST(test_damaged_block_sums), RECORD_TEST(test_files), RECORD_TEST(test_same_version),
		RECORD_TEST(test_damaged_records), RECORD_TEST(test_refused_versions), RECORD_TEST(test_refused_records)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
