/* SPDX-License-Identifier: MIT */
/* The hash table: what was added is found, the newest first, however the table has grown since. */
#include "base/hash.h"
#include "lib/check.h"

#define ITEMS 10000u
#define TWICE 100u /* numbers that are there a second time */

struct item {
	struct hash_link link; /* must be the first field */
	uint64_t number;
};

static struct item items[ITEMS], seconds[TWICE];

static uint64_t hash_of(const struct hash_link *link)
{
	return hash_spread(((const struct item *)link)->number) >> 32;
}

static uint64_t hash_same(const struct hash_link *link)
{
	return 5;
}

static struct item *find(const struct hash_table *table, hash_fn *hash, uint64_t number)
{
	const struct item wanted = { .number = number };
	struct hash_link *link = hash_first(table, hash(&wanted.link));

	while (link && ((struct item *)link)->number != number)
		link = link->next;
	return (struct item *)link;
}

static void add(struct hash_table *table, hash_fn *hash, struct item *item, uint64_t number, size_t count)
{
	item->number = number;
	CHECK_OK(hash_reserve(table, count, hash, &err));
	hash_add(table, hash(&item->link), &item->link);
}

static size_t longest(const struct hash_table *table)
{
	size_t longest = 0, length;

	for (size_t i = 0; i < table->room; i++) {
		length = 0;
		for (const struct hash_link *link = table->chains[i]; link; link = link->next)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

static void test_a_table_grows(void **state)
{
	struct hash_table table = { 0 };

	assert_null(find(&table, hash_of, 1));
	for (size_t i = 0; i < TWICE; i++)
		add(&table, hash_of, &items[i], 3 * i, i + 1);
	for (size_t i = 0; i < TWICE; i++)
		add(&table, hash_of, &seconds[i], 3 * i, TWICE + i + 1);
	for (size_t i = TWICE; i < ITEMS; i++)
		add(&table, hash_of, &items[i], 3 * i, TWICE + i + 1);
	assert_in_range(table.room, ITEMS + TWICE, 2 * (ITEMS + TWICE));
	assert_in_range(longest(&table), 1, 10);
	for (size_t i = 0; i < ITEMS; i++)
		assert_ptr_equal(find(&table, hash_of, 3 * i), i < TWICE ? &seconds[i] : &items[i]);
	assert_null(find(&table, hash_of, 1));
	for (size_t i = 0; i < TWICE; i++)
		hash_remove(&table, hash_of(&seconds[i].link), &seconds[i].link);
	for (size_t i = 0; i < ITEMS; i++)
		assert_ptr_equal(find(&table, hash_of, 3 * i), &items[i]);
	hash_free(&table);
	assert_null(find(&table, hash_of, 3));
}

/* In one chain as well, the order stays when the table grows. */
static void test_one_chain(void **state)
{
	struct hash_table table = { 0 };
	size_t number = 200;

	for (size_t i = 0; i < number; i++)
		add(&table, hash_same, &items[i], i, i + 1);
	assert_true(table.room >= number);
	assert_int_equal(longest(&table), number);
	for (const struct hash_link *link = hash_first(&table, 5); link; link = link->next)
		assert_int_equal(((const struct item *)link)->number, --number);
	assert_int_equal(number, 0);
	hash_remove(&table, 5, &items[199].link);
	hash_remove(&table, 5, &items[0].link);
	hash_remove(&table, 5, &items[100].link);
	assert_null(find(&table, hash_same, 100));
	assert_int_equal(longest(&table), 197);
	hash_free(&table);
}

CHECK_MAIN(cmocka_unit_test(test_a_table_grows), cmocka_unit_test(test_one_chain))
