/* SPDX-License-Identifier: MIT */
/* Lanes of a volume of several members: who gets which files, groups and their segments, places for catalogues. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/members/address.h"
#include "lib/check.h"
#include "volume/space/allocator.h"

#define LOG     20u
#define SEGMENT (UINT64_C(1) << LOG)
#define MOST    8u

static struct members members;
static struct allocator_member about[MOST];
static struct allocator allocator;

static void describe(uint32_t count, uint64_t capacity)
{
	members = (struct members){ .segment_log = LOG, .count = count };
	members.list = calloc(count, sizeof(*members.list));
	assert_non_null(members.list);
	for (uint32_t i = 0; i < count; i++)
		about[i] = (struct allocator_member){ .capacity = capacity };
}

static void begin(uint32_t count, uint64_t capacity, uint32_t copies)
{
	describe(count, capacity);
	CHECK_OK(allocator_open_members(&allocator, &members, about, copies, 1, &err));
}

static void end(void)
{
	allocator_close(&allocator);
	members_free(&members);
}

static uint64_t place(uint64_t length)
{
	uint64_t address;

	allocator_choose(&allocator, length);
	assert_true(allocator_take(&allocator, length, SPACE_BLOCK, &address));
	return address;
}

/* --- balance: the trees of which the placement rule was chosen --- */

struct share {
	uint64_t files[MOST], bytes[MOST];
};

static uint64_t state;

static double uniform(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* Of mean 8 KiB and more, as image data sets have them. */
static uint64_t lognormal(uint32_t i)
{
	double size = exp(9.0 + 0.8 * sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()));

	return size < 200 ? 200 : size > 1e6 ? 1000000 : (uint64_t)size;
}

static uint64_t image_and_label(uint32_t i)
{
	return i % 2 ? 300 : lognormal(i) * 8 % 900000 + 1000;
}

static uint64_t alternating_directories(uint32_t i)
{
	return i / 1000 % 2 ? 2000 + lognormal(i) % 1000 : 100000 + lognormal(i) % 50000;
}

static void check_balance(uint64_t (*size)(uint32_t), uint32_t count)
{
	const uint32_t files = 60000;
	struct share share = { 0 };
	uint64_t sum = 0;

	state = 7;
	begin(count, SPACE_ENDLESS, 1);
	for (uint32_t i = 0; i < files; i++) {
		uint64_t length = size(i), address = place(length);

		share.files[address_member(address)]++;
		share.bytes[address_member(address)] += length;
		sum += length;
	}
	for (uint32_t m = 0; m < count; m++) {
		assert_true(fabs((double)share.files[m] * count / files - 1) <= 0.02);
		assert_true(fabs((double)share.bytes[m] * count / (double)sum - 1) <= 0.02);
	}
	end();
}

static void test_members_get_equal_shares(void **unused)
{
	for (uint32_t count = 2; count <= MOST; count++) {
		check_balance(lognormal, count);
		check_balance(image_and_label, count);
		check_balance(alternating_directories, count);
	}
}

/* --- groups --- */

static void test_a_file_never_crosses_a_segment(void **unused)
{
	begin(3, SPACE_ENDLESS, 1);
	for (unsigned i = 0; i < 300; i++) {
		uint64_t address = place(700000);

		assert_int_equal(address_offset(address) / SEGMENT, (address_offset(address) + 699999) / SEGMENT);
		assert_true(address_offset(address) >= DSFS_DATA_AT + (UINT64_C(4) << 20));
	}
	allocator_settle(&allocator);
	for (uint32_t g = 0; g < members.group_count; g++)
		assert_true(members.groups[g].tail >= 700000 && members.groups[g].tail <= SEGMENT);
	end();
}

static void test_copies_lie_on_other_members(void **unused)
{
	uint64_t copies[DSFS_COPIES_MAX];
	bool used[MOST][256] = { 0 };

	begin(5, SPACE_ENDLESS, 3);
	for (unsigned i = 0; i < 100; i++)
		place(400000);
	for (uint32_t g = 0; g < members.group_count; g++) {
		uint64_t first = members.columns[members.groups[g].first_column];

		assert_int_equal(members_copies(&members, first, copies), 3);
		for (unsigned c = 0; c < 3; c++) {
			uint32_t member = address_member(copies[c]);
			uint64_t segment = address_offset(copies[c]) / SEGMENT;

			assert_int_equal(member, (address_member(first) + c) % 5);
			assert_true(segment < 256);
			assert_false(used[member][segment]);
			used[member][segment] = true;
		}
	}
	end();
}

/* And each member of the other domain has its share of them. */
static void test_copies_avoid_the_domain_of_the_data(void **unused)
{
	uint64_t copies[DSFS_COPIES_MAX], counts[4] = { 0 };

	describe(4, SPACE_ENDLESS);
	for (unsigned i = 0; i < 4; i++)
		strcpy(members.list[i].domain, i < 2 ? "left" : "right");
	CHECK_OK(allocator_open_members(&allocator, &members, about, 2, 1, &err));
	for (unsigned i = 0; i < 40; i++) {
		uint64_t address = place(4096);

		assert_int_equal(members_copies(&members, address, copies), 2);
		assert_true((address_member(copies[0]) < 2) != (address_member(copies[1]) < 2));
		counts[address_member(copies[1])]++;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(counts[i], 10);
	assert_null(allocator_shared_domain(&allocator));
	allocator_close(&allocator);
	CHECK_OK(allocator_open_members(&allocator, &members, about, 3, 2, &err));
	assert_non_null(allocator_shared_domain(&allocator)); /* there are only two */
	end();
}

static void test_a_later_publish_goes_on_in_the_groups(void **unused)
{
	uint32_t groups;

	begin(2, SPACE_ENDLESS, 2);
	place(4096);
	place(4096);
	allocator_settle(&allocator);
	groups = members.group_count;
	allocator_close(&allocator);
	CHECK_OK(allocator_open_members(&allocator, &members, about, 2, 2, &err));
	assert_int_equal(address_offset(place(4096)) % SEGMENT, 4096);
	assert_int_equal(members.group_count, groups);
	allocator_close(&allocator);
	CHECK_OK(allocator_open_members(&allocator, &members, about, 1, 3, &err)); /* less protected: a new one */
	place(4096);
	assert_int_equal(members.group_count, groups + 1);
	assert_int_equal(members.groups[groups].birth, 3);
	end();
}

/* Columns take memory, and not the size that a table says. */
static void test_what_is_held_of_a_member_of_any_size(void **unused)
{
	struct extent_list list = { 0 };
	uint64_t columns = 0, address = 0;

	begin(3, SPACE_ENDLESS, 2);
	for (int i = 0; i < 9; i++)
		address = place(SEGMENT);
	allocator_settle(&allocator);
	allocator_close(&allocator);
	for (uint32_t i = 0; i < 3; i++)
		members.list[i].size = (UINT64_C(1) << DSFS_ADDRESS_BITS) - SEGMENT;
	CHECK_OK(allocator_open_members(&allocator, &members, about, 2, 2, &err));
	for (uint32_t i = 0; i < 3; i++)
		columns += allocator.lanes[i].space.held_count;
	assert_int_equal(columns, members.column_count);
	CHECK_OK(allocator_segments(&allocator, &list, &err));
	assert_int_equal(list.count, 0);
	allocator_hold(&allocator, address + 4096, 100);
	allocator_hold(&allocator, members.columns[0], 4096);
	CHECK_OK(allocator_segments(&allocator, &list, &err));
	assert_int_equal(list.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(list.items[i].address == members.columns[0] || list.items[i].address == address);
		assert_int_equal(list.items[i].length, SEGMENT);
	}
	assert_true(list.items[0].address != list.items[1].address);
	extent_list_free(&list);
	end();
}

static void test_a_full_member_leaves_the_rest_to_others(void **unused)
{
	uint64_t address, bytes[2] = { 0 };

	describe(2, 64 * SEGMENT);
	about[1].capacity = 16 * SEGMENT;
	CHECK_OK(allocator_open_members(&allocator, &members, about, 1, 1, &err));
	for (;;) {
		allocator_choose(&allocator, SEGMENT);
		if (!allocator_take(&allocator, SEGMENT, SPACE_BLOCK, &address))
			break;
		bytes[address_member(address)] += SEGMENT;
	}
	/* All but the first five segments and the reserve. */
	assert_int_equal(bytes[0], (64 - 5 - 1) * SEGMENT);
	assert_int_equal(bytes[1], (16 - 5 - 1) * SEGMENT);
	assert_int_equal(allocator_free(&allocator), 0);
	end();
}

static void test_unequal_members_by_size(void **unused)
{
	uint64_t bytes[2] = { 0 };

	describe(2, 4096 * SEGMENT);
	about[1].capacity = 1024 * SEGMENT;
	CHECK_OK(allocator_open_members(&allocator, &members, about, 1, 1, &err));
	for (unsigned i = 0; i < 10000; i++)
		bytes[address_member(place(8192))] += 8192;
	assert_true(bytes[0] > bytes[1] * 39 / 10 && bytes[0] < bytes[1] * 41 / 10);
	end();
}

/* --- catalogues --- */

static void test_catalogues_lie_in_no_group(void **unused)
{
	uint64_t offset, next;

	describe(2, SPACE_ENDLESS);
	CHECK_OK(allocator_open_members(&allocator, &members, about, 1, 1, &err));
	assert_true(allocator_take_catalogue(&allocator, 0, 8192, &offset));
	assert_int_equal(offset, DSFS_DATA_AT);
	allocator_close(&allocator);
	about[0].catalogue = (struct extent){ offset, 8192 };
	CHECK_OK(allocator_open_members(&allocator, &members, about, 1, 2, &err));
	assert_true(allocator_take_catalogue(&allocator, 0, 8192, &next)); /* not over the one in force */
	assert_true(next >= offset + 8192);
	assert_true(allocator_take_catalogue(&allocator, 0, 6 * SEGMENT, &next)); /* a large one, in free segments */
	assert_true(next >= 5 * SEGMENT);
	end();
}

CHECK_MAIN(cmocka_unit_test(test_members_get_equal_shares), cmocka_unit_test(test_a_file_never_crosses_a_segment),
	   cmocka_unit_test(test_copies_lie_on_other_members),
	   cmocka_unit_test(test_copies_avoid_the_domain_of_the_data),
	   cmocka_unit_test(test_a_later_publish_goes_on_in_the_groups),
	   cmocka_unit_test(test_what_is_held_of_a_member_of_any_size),
	   cmocka_unit_test(test_a_full_member_leaves_the_rest_to_others),
	   cmocka_unit_test(test_unequal_members_by_size), cmocka_unit_test(test_catalogues_lie_in_no_group))
