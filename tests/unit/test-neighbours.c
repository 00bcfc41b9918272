/* SPDX-License-Identifier: MIT */
/* Which reads are made as one: whole small files near each other, whatever order the packer gave them. */

#include "image/catalogue/index_load.h"
#include "lib/check.h"
#include "lib/direct/neighbours.h"
#include "lib/section.h"

#define AT     DSFS_DATA_AT
#define DEVICE (AT + (64u << 20))
#define FIRST  (UINT64_C(3) << DSFS_ORDINAL_BITS) /* ids of sequence 3 */

static struct section section;
static struct direct direct;
static struct permission permission;
static struct neighbours found;
static struct dsfs_read reads[8];

static const struct members *members; /* NULL: one */

/* Files of these sizes at these places, from inode 2 on; with members the number of one is in the upper bits. */
static void make(const uint64_t *places, const uint32_t *sizes, unsigned count)
{
	static const uint64_t device[1] = { DEVICE };
	struct version version = { 0 };
	char name[2] = "a";

	section_init(&section);
	for (unsigned i = 0; i < count; i++, name[0]++)
		section_file(&section, 1, name, sizes[i],
			     section_chunk(&section, AT + places[i], 1, sizes[i], DSFS_CODEC_RAW));
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, device[0], members, &direct.index, &err));
	direct.opened.info = (struct dsfs_info){ .root = FIRST | INODE_ROOT, .ids = count + 1, .sequence = 3 };
	for (unsigned i = 0; i < count; i++)
		reads[i] = (struct dsfs_read){ .id = FIRST | (2 + i), .size = UINT64_MAX };
}

static unsigned find(unsigned count)
{
	neighbours_find(&direct, &permission, reads, count, &found);
	return found.count;
}

/* The second one lies in a gap before the first. */
static void test_order(void **state)
{
	(void)state;
	make((uint64_t[]){ 8192, 4000, 16384, 20480 }, (uint32_t[]){ 5000, 90, 4096, 100 }, 4);
	assert_int_equal(find(4), 4);
	assert_int_equal(found.bytes, 5000 + 90 + 4096 + 100);
	assert_int_equal(found.reads[0], 1);
	assert_int_equal(found.reads[1], 0);
	assert_int_equal(found.reads[3], 3);
	assert_int_equal(found.chunks[0].address, AT + 4000);
	assert_int_equal(find(2), 2);
	assert_int_equal(find(1), 0);

	reads[2].offset = 1; /* not the whole file */
	assert_int_equal(find(4), 2);
	reads[2].offset = 0;
	reads[2].size = 4095;
	assert_int_equal(find(4), 2);
	reads[2].size = 4096;
	assert_int_equal(find(4), 4);
	reads[1].buffer = reads; /* it goes somewhere else */
	assert_int_equal(find(4), 0);
	reads[1].buffer = NULL;
	reads[1].id += UINT64_C(1) << DSFS_ORDINAL_BITS; /* of another version */
	assert_int_equal(find(4), 0);
	index_close(direct.index);
}

static void test_limits(void **state)
{
	(void)state;
	/* too far; too much together; in the same place */
	make((uint64_t[]){ 0, 4096, 32u << 20 }, (uint32_t[]){ 4096, 4096, 4096 }, 3);
	assert_int_equal(find(3), 2);
	index_close(direct.index);
	make((uint64_t[]){ 0, 131072, 262144, 393216, 524288 },
	     (uint32_t[]){ 131072, 131072, 131072, 131072, 1 }, 5);
	assert_int_equal(find(5), 4);
	index_close(direct.index);
	make((uint64_t[]){ 0, 4096, 4096 }, (uint32_t[]){ 4096, 100, 100 }, 3);
	assert_int_equal(find(3), 2);
	index_close(direct.index);
}

/* They lie on both in turn. */
static void test_members(void **state)
{
	uint64_t a = SECTION_ON(0) - AT, b = SECTION_ON(1) - AT;

	(void)state;
	members = &section_two;
	make((uint64_t[]){ a, b, a + 4096, b + 4096, a + (8u << 20) }, (uint32_t[]){ 4096, 4096, 4096, 4096, 4096 },
	     5);
	assert_int_equal(find(5), 4);
	assert_int_equal(found.reads[0], 0);
	assert_int_equal(found.reads[1], 2);
	assert_int_equal(found.reads[2], 1);
	assert_int_equal(found.reads[3], 3);
	index_close(direct.index);
	members = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
