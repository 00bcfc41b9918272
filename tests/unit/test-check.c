/* SPDX-License-Identifier: MIT */
/* The verdicts of verify on chunks wherever they lie, and on a device that is wrong now and then. */
#include <errno.h>
#include <stdlib.h>

#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "io/engine.h"
#include "lib/check.h"
#include "verify/check.h"

#define DEVICE (UINT32_C(6) << 20)
#define LONGEST (1u << DSFS_CHUNK_LOG_MAX)
#define ITEMS  3000u

static uint8_t device[DEVICE], other[DEVICE], blob[65536]; /* other: member 1 */
static struct index volume_index = { .blob = { blob, sizeof(blob) } };
static struct file_geometry geometry[2] = { { .logical_block = 512, .size = DEVICE },
					    { .logical_block = 512, .size = DEVICE } };
static struct array_source volume = { .count = 1, .geometry = geometry };
static struct item items[ITEMS];

/* So many reads of this byte bring another one. */
static uint64_t bad_at;
static unsigned bad_reads;

static void fake_read(struct engine *engine, struct io_read *read)
{
	uint64_t at = read->offset;

	for (int i = 0; i < read->iov_count; i++) {
		const struct iovec *iov = &read->iov[i];

		assert_true(at + iov->iov_len <= DEVICE);
		memcpy(iov->iov_base, (read->member ? other : device) + at, iov->iov_len);
		if (bad_reads && bad_at >= at && bad_at - at < iov->iov_len) {
			((uint8_t *)iov->iov_base)[bad_at - at] ^= 1;
			bad_reads--;
		}
		at += iov->iov_len;
	}
	read->done(read, (int)(at - read->offset));
}

static void fake_free(struct engine *engine)
{
	free(engine);
}

/* In the place of the engine that reads descriptors. */
int pool_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = fake_read, .free = fake_free };
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return error_set(err, -ENOMEM, "no memory");
	engine->ops = &ops;
	*ret = engine;
	return 0;
}

static struct item make_item(uint32_t member, uint64_t offset, uint32_t length)
{
	const uint8_t *bytes = member == DSFS_IN_INDEX ? blob : device;

	return (struct item){ .chunk = { .address = address_make(member, offset), .stored = length, .length = length,
					 .codec = DSFS_CODEC_RAW,
					 .sum = sum_of(DSFS_SUM_XXH3_64, bytes + offset, length) },
			      .shared = 1 };
}

static int fill(void **state)
{
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	for (size_t i = 0; i < sizeof(blob); i++)
		blob[i] = (uint8_t)(i * 2246822519u >> 11);
	return 0;
}

static struct check_counts check(size_t count, unsigned jobs, struct damage_list *damage)
{
	struct check_setup setup = { .volume = &volume, .index = &volume_index, .jobs = jobs, .damage = damage };
	struct check_counts counts = { 0 };

	qsort(items, count, sizeof(*items), item_compare);
	for (size_t i = 0; i < count; i++)
		items[i].again = i && item_compare_bytes(&items[i - 1], &items[i]) == 0;
	damage_init(damage);
	CHECK_OK(check_window(&setup, items, count, &counts, &err));
	damage_end(damage);
	return counts;
}

static struct item random_item(long most)
{
	uint32_t length = (uint32_t)(1 + random() % most);

	if (random() % 8 == 0)
		return make_item(DSFS_IN_INDEX, (uint64_t)random() % 60000, (uint32_t)(1 + random() % 5000));
	return make_item(0, DSFS_DATA_AT + (uint64_t)random() % (DEVICE - DSFS_DATA_AT - length + 1), length);
}

/* As a hostile index may have them: chunks that overlap, that lie within others or far from all, the same ones many
 * times, with other sums. Of those with a wrong sum each is damage, and nothing else is. */
static void test_any_places(void **state)
{
	static const long longest[] = { 1, 600, 5000, LONGEST };
	static struct damage_list damage;

	srandom(9);
	for (unsigned round = 0; round < 12; round++) {
		uint64_t bytes = 0, chunks = 0, wrong = 0;
		size_t count = 1 + (size_t)random() % (round % 4 == 3 ? 100 : ITEMS);
		struct check_counts counts;

		for (size_t i = 0; i < count; i++) {
			items[i] = i && random() % 4 == 0 ? items[i - 1] : random_item(longest[round % 4]);
			items[i].row = 0;
			if (random() % 50 == 0)
				items[i].chunk.sum.bytes[0]++;
		}
		counts = check(count, 1 + round % 3, &damage);
		for (size_t i = 0; i < count; i++) {
			const struct chunk *chunk = &items[i].chunk;
			const uint8_t *content = address_member(chunk->address) ? blob : device;

			struct sum sum = sum_of(DSFS_SUM_XXH3_64, content + address_offset(chunk->address),
						chunk->length);

			wrong += !sum_is_same(&sum, &chunk->sum);
			chunks += !items[i].again;
			bytes += items[i].again ? 0 : chunk->stored;
		}
		assert_int_equal(damage.count, wrong);
		assert_int_equal(counts.chunks, chunks);
		assert_int_equal(counts.bytes, bytes);
		assert_int_equal(counts.references, count);
		assert_int_equal(counts.transient, 0);
	}
}

/* However often a chunk is wrong before it is right, it counts once; what stays wrong, alone and with another one, is
 * damage. */
static void test_wrong_now_and_then(void **state)
{
	static struct damage_list damage;
	struct check_counts counts;

	for (unsigned count = 1; count <= 2; count++)
		for (unsigned wrong = 0; wrong <= 2 * count; wrong++) {
			items[0] = make_item(0, DSFS_DATA_AT, 70000);
			items[1] = make_item(0, DSFS_DATA_AT + 70000, 30000);
			bad_at = DSFS_DATA_AT + 5000;
			bad_reads = wrong;
			counts = check(count, 1, &damage);
			assert_int_equal(bad_reads, 0);
			assert_int_equal(damage.count, wrong == 2 * count);
			assert_int_equal(counts.transient, wrong > 0 && wrong < 2 * count);
			assert_int_equal(counts.chunks, count);
		}
}

/* The first segment with data has a copy at the third one of member 1, the second has none. */
static void test_copies(void **state)
{
	static struct member list[2] = { { .size = DEVICE }, { .size = DEVICE } };
	static struct member_group groups[2] = {
		{ .tail = DSFS_DATA_AT, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1 },
		{ .tail = DSFS_DATA_AT, .kind = DSFS_GROUP_COPIES, .data = 1, .first_column = 2 },
	};
	const uint64_t copy_at = address_make(1, 3 * DSFS_DATA_AT);
	uint64_t columns[3] = { DSFS_DATA_AT, copy_at, 2 * DSFS_DATA_AT };
	struct member_column places[3] = { { DSFS_DATA_AT, 0, 0 }, { 2 * DSFS_DATA_AT, 1, 0 }, { copy_at, 0, 1 } };
	static struct damage_list damage;
	struct check_counts counts;

	volume_index.members = (struct members){ .segment_log = DSFS_SEGMENT_LOG_MIN, .list = list, .count = 2,
						 .groups = groups, .group_count = 2, .columns = columns,
						 .column_count = 3, .places = places };
	memcpy(other + 3 * DSFS_DATA_AT, device + DSFS_DATA_AT, DSFS_DATA_AT);
	for (size_t i = 0; i < 300; i++)
		items[i] = make_item(0, 2 * DSFS_DATA_AT - 100000 + i * 1000, 1000); /* 100 of them have a copy */
	counts = check(300, 2, &damage);
	assert_int_equal(damage.count, 0);
	assert_int_equal(counts.chunks, 300);
	assert_int_equal(counts.bytes, 400 * 1000);
	other[4 * DSFS_DATA_AT - 100000 + 5001] ^= 1;
	counts = check(300, 2, &damage);
	assert_int_equal(damage.count, 1);
	assert_int_equal(damage.shown[0].item.chunk.address, address_make(1, 4 * DSFS_DATA_AT - 100000 + 5000));
	device[2 * DSFS_DATA_AT + 7] ^= 1;
	counts = check(300, 2, &damage);
	assert_int_equal(damage.count, 2);
	device[2 * DSFS_DATA_AT + 7] ^= 1;
	volume_index.members = (struct members){ 0 };
}

CHECK_MAIN_WITH(fill, NULL, cmocka_unit_test(test_any_places), cmocka_unit_test(test_wrong_now_and_then),
		cmocka_unit_test(test_copies))
