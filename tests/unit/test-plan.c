/* SPDX-License-Identifier: MIT */
/* Reads that are made as one: whole small files near each other, whatever the order of the caller and the packer. */

#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "lib/check.h"
#include "lib/direct/plan.h"
#include "lib/section.h"
#include "read/cached.h"

#define AT     DSFS_DATA_AT
#define DEVICE (AT + (64u << 20))
#define CHUNK  (1u << 17)
#define FIRST  (UINT64_C(3) << DSFS_ORDINAL_BITS) /* ids of sequence 3 */

static struct section section;
static struct direct direct;
static struct permission permission;
static struct plan *plan;
static struct dsfs_read reads[16];

static const struct members *members; /* NULL: one */
static struct cached *cached;          /* NULL: the machine has no cache */

/* The chunks of a file in one piece; returns the first one. */
static uint64_t chunks(uint64_t address, uint32_t size)
{
	uint64_t first = section_chunk(&section, address, 1, size < CHUNK ? size : CHUNK, DSFS_CODEC_RAW);

	for (uint32_t at = CHUNK; at < size; at += CHUNK)
		section_chunk(&section, address + at, 1, size - at < CHUNK ? size - at : CHUNK, DSFS_CODEC_RAW);
	return first;
}

/* Files of these sizes at these places, from inode 2 on; with members the number of one is in the upper bits. */
static void make(const uint64_t *places, const uint32_t *sizes, unsigned count)
{
	static const uint64_t device[1] = { DEVICE };
	struct version version = { 0 };
	char name[2] = "a";

	section_init(&section);
	for (unsigned i = 0; i < count; i++, name[0]++)
		section_file(&section, 1, name, sizes[i], chunks(AT + places[i], sizes[i]));
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, device[0], members, &direct.version.index,
			       &err));
	direct.opened.info = (struct dsfs_info){ .root = FIRST | INODE_ROOT, .ids = count + 1, .sequence = 3 };
	for (unsigned i = 0; i < count; i++)
		reads[i] = (struct dsfs_read){ .id = FIRST | (2 + i), .size = UINT64_MAX };
}


/* The number of joins; 0: there is no plan-> */
static size_t joins(unsigned count)
{
	struct fifo todo = fifo_of(reads, count);

	plan_put(plan);
	plan = NULL;
	if (!plan_make(&direct, cached, &permission, &todo, &plan)) {
		assert_int_equal(todo.count, count);
		return 0;
	}
	assert_int_equal(todo.count, 0);
	return plan->join_count;
}

/* The index of the n-th read of the plan-> */
static long nth(unsigned n)
{
	return plan->files[n].read - reads;
}

static void close_all(void)
{
	plan_put(plan);
	plan = NULL;
	index_close(direct.version.index);
}

/* The second file lies in a gap before the first. */
static void test_order(void **state)
{
	make((uint64_t[]){ 8192, 4000, 16384, 20480 }, (uint32_t[]){ 5000, 90, 4096, 100 }, 4);
	assert_int_equal(joins(4), 1);
	assert_int_equal(plan->joins[0].count, 4);
	assert_int_equal(plan->joins[0].bytes, 5000 + 90 + 4096 + 100);
	assert_int_equal(nth(0), 1);
	assert_int_equal(nth(1), 0);
	assert_int_equal(nth(3), 3);
	assert_int_equal(plan->chunks[0].address, AT + 4000);
	assert_int_equal(joins(2), 1);
	assert_int_equal(joins(1), 0);
	close_all();
}

/* Reads that must be made alone come beside the others, and each read is taken once. */
static void test_alone(void **state)
{
	make((uint64_t[]){ 4096, 8192, 12288, 16384 }, (uint32_t[]){ 4096, 4096, 4096, 4096 }, 4);
	reads[1].offset = 1; /* not the whole file */
	assert_int_equal(joins(4), 2);
	assert_null(plan_peek(plan));
	assert_ptr_equal(plan_take(plan), &reads[1]);
	assert_int_equal(plan_peek(plan)->count, 3);
	assert_ptr_equal(plan_take(plan), &reads[0]);
	assert_ptr_equal(plan_take(plan), &reads[2]);
	assert_null(plan_peek(plan)); /* one is left of the three */
	assert_ptr_equal(plan_take(plan), &reads[3]);
	assert_null(plan_take(plan));
	reads[1].offset = 0;
	reads[1].size = 4095;
	assert_int_equal(joins(4), 2);
	reads[1].size = 4096;
	assert_int_equal(joins(4), 1);
	reads[1].id += UINT64_C(1) << DSFS_ORDINAL_BITS; /* of another version */
	assert_int_equal(joins(4), 2);
	close_all();
}

/* Reads into buffers of the caller are joined, but not with reads into the arena. */
static void test_buffers(void **state)
{
	uint8_t buffers[2][3 * CHUNK];

	make((uint64_t[]){ 4096, 8192, 12288, 16384 }, (uint32_t[]){ 4096, 4096, 4096, CHUNK + 5 }, 4);
	reads[1].buffer = buffers[0];
	reads[3].buffer = buffers[1];
	reads[1].size = reads[3].size = sizeof(buffers[0]);
	assert_int_equal(joins(4), 2);
	for (unsigned i = 0; i < 2; i++) {
		const struct plan_join *join = &plan->joins[i];

		assert_int_equal(join->count, 2);
		assert_int_equal(join->has_buffers, plan->files[join->first].read == &reads[1]);
		assert_int_equal(join->is_spread, !join->has_buffers);
	}
	assert_int_equal(nth(1), 3);
	assert_ptr_equal(plan->places[0], buffers[0]);
	assert_ptr_equal(plan->places[1], buffers[1]);
	assert_ptr_equal(plan->places[2], buffers[1] + CHUNK);
	assert_null(plan->places[3]);
	reads[1].size = 4095; /* no room for all of it */
	assert_int_equal(joins(4), 3);
	close_all();
	make((uint64_t[]){ 0, PLAN_COPIED, 2 * PLAN_COPIED + 4096 },
	     (uint32_t[]){ PLAN_COPIED, PLAN_COPIED, PLAN_COPIED + 1 }, 3); /* too large for a copy */
	assert_int_equal(joins(3), 1);
	for (unsigned i = 0; i < 3; i++)
		reads[i].buffer = buffers;
	assert_int_equal(joins(3), 2);
	close_all();
}

/* Ids say nothing where the order is random; two that are far apart in both are not looked at any further. */
static void test_random(void **state)
{
	uint64_t places[2] = { 4096, 8192 };

	make(places, (uint32_t[]){ 4096, 4096 }, 2);
	reads[0].id++;
	reads[1].id--;
	assert_int_equal(joins(2), 1);
	close_all();
	places[0] = 32u << 20;
	make(places, (uint32_t[]){ 4096, 4096 }, 2);
	reads[0].id++;
	reads[1].id--;
	assert_int_equal(joins(2), 0);
	close_all();
}

static void test_limits(void **state)
{
	/* a gap that is too large; in the same place; too much together */
	make((uint64_t[]){ 0, 4096, 8193 + PLAN_GAP }, (uint32_t[]){ 4096, 4096, 4096 }, 3);
	assert_int_equal(joins(3), 2);
	close_all();
	make((uint64_t[]){ 0, 4096, 8192 + PLAN_GAP }, (uint32_t[]){ 4096, 4096, 4096 }, 3);
	assert_int_equal(joins(3), 1);
	close_all();
	make((uint64_t[]){ 0, 4096, 4096 }, (uint32_t[]){ 4096, 100, 100 }, 3);
	assert_int_equal(joins(3), 2);
	close_all();
	make((uint64_t[]){ 0, CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK, 5 * CHUNK, 6 * CHUNK, 7 * CHUNK, 8 * CHUNK },
	     (uint32_t[]){ CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, CHUNK, 1 }, 9);
	assert_int_equal(joins(9), 2);
	assert_int_equal(plan->joins[0].count, 8);
	assert_int_equal(plan->joins[0].bytes, 1 << 20);
	close_all();
}

/* More reads than a plan has wait for the next one. */
static void test_most(void **state)
{
	static struct dsfs_read many[PLAN_MOST + 1];
	struct fifo todo = fifo_of(many, PLAN_MOST + 1);

	make((uint64_t[]){ 0, 4096 }, (uint32_t[]){ 4096, 4096 }, 2);
	for (unsigned i = 0; i <= PLAN_MOST; i++)
		many[i] = (struct dsfs_read){ .id = FIRST | (2 + i % 2), .size = UINT64_MAX };
	assert_true(plan_make(&direct, NULL, &permission, &todo, &plan));
	assert_int_equal(todo.count, 1);
	assert_ptr_equal(fifo_peek(&todo, 0), &many[PLAN_MOST]);
	for (unsigned i = 0; i < PLAN_MOST; i++)
		assert_non_null(plan_take(plan));
	assert_true(plan_is_over(plan));
	close_all();
}

static void test_chunks(void **state)
{
	make((uint64_t[]){ 0, 4096, 4096 + 3 * CHUNK }, (uint32_t[]){ 4096, 2 * CHUNK + 5, 4096 }, 3);
	assert_int_equal(joins(2), 1);
	assert_int_equal(plan->joins[0].chunk_count, 4);
	assert_int_equal(plan_bytes(plan, &plan->files[1]), 2 * CHUNK + 5);
	assert_int_equal(joins(3), 2);
	close_all();
	make((uint64_t[]){ 0, 4096 }, (uint32_t[]){ 4096, (1u << 20) + 1 }, 2); /* too large for a read */
	assert_int_equal(joins(2), 2);
	close_all();
}

/* They lie on both in turn; reads go to both in the order of offsets. */
static void test_members(void **state)
{
	uint64_t a = SECTION_ON(0) - AT, b = SECTION_ON(1) - AT;

	members = &section_two;
	make((uint64_t[]){ a, b, a + 4096, b + 4096, a + (8u << 20) }, (uint32_t[]){ 4096, 4096, 4096, 4096, 4096 },
	     5);
	assert_int_equal(joins(5), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(plan->joins[i].count, plan->files[plan->joins[i].first].read == &reads[4] ? 1 : 2);
	for (unsigned i = 1; i < 3; i++)
		assert_true(address_offset(plan->chunks[plan->joins[i - 1].chunk].address) <=
			    address_offset(plan->chunks[plan->joins[i].chunk].address));
	assert_int_equal(nth(0), 0);
	assert_int_equal(nth(1), 2);
	close_all();
	members = NULL;
}

/* Files that the cache has are read alone, but not one among others that it does not have. */
static void test_cached(void **state)
{
	static const struct chunk_table_shape shape = { .buckets = 10, .slots = 10 };
	static const uint8_t volume[16];
	struct store store = { .view.table = &store.table };

	make((uint64_t[]){ 0, 4096, 8192, 1 << 20, (1 << 20) + 4096 }, (uint32_t[]){ 4096, 4096, 4096, 4096, 4096 }, 5);
	CHECK_OK(chunk_table_new(&shape, volume, &store.table, &err));
	CHECK_OK(cached_new(&store, 1, &cached, &err));
	assert_int_equal(joins(5), 2);
	for (unsigned i = 0; i < 4; i++)
		assert_true(chunk_map_put(&store.table.map, chunk_map_key(&plan->chunks[i]), i));
	assert_int_equal(joins(5), 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(plan->joins[i].count, i < 3 ? 1 : 2);
	assert_int_equal(plan->joins[2].bytes, 4096);
	cached_free(cached);
	cached = NULL;
	chunk_table_close(&store.table);
	close_all();
}

CHECK_MAIN(cmocka_unit_test(test_order), cmocka_unit_test(test_alone), cmocka_unit_test(test_buffers),
	   cmocka_unit_test(test_random), cmocka_unit_test(test_limits), cmocka_unit_test(test_most),
	   cmocka_unit_test(test_chunks), cmocka_unit_test(test_members), cmocka_unit_test(test_cached))
