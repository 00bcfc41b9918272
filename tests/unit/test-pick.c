/* SPDX-License-Identifier: MIT */
/* Which files a leg takes beside its own. */
#include "image/catalogue/index_load.h"
#include "lib/check.h"
#include "lib/section.h"
#include "serve/readahead/pick.h"

static struct section section;
static struct index *index_of;

struct file {
	uint64_t address;
	uint32_t size;
};

/* From inode 2 on. */
static void make(const struct file *files, unsigned count)
{
	struct version version = { 0 };
	char name[2] = "a";

	section_init(&section);
	for (unsigned i = 0; i < count; i++, name[0]++)
		section_file(&section, 1, name, files[i].size,
			     section_chunk(&section, files[i].address, 1, files[i].size, DSFS_CODEC_RAW));
	CHECK_OK(index_load_fd(section_write(&section, &version), &version, 0, &section_two, &index_of, &err));
}

/* Inodes 2 to 4 are the leg. */
static void test_among(void **state)
{
	static const struct file files[] = {
		{ SECTION_ON(0), 5000 },          { SECTION_ON(1), 5000 },         { SECTION_ON(0) + 16384, 4096 },
		{ SECTION_ON(0) + 5000, 100 },    /* 5: in what the first one left of a block */
		{ SECTION_ON(1) + 5000, 100 },    /* 6: behind the only one of the leg on its member */
		{ SECTION_ON(0) + 8192, 4096 },   /* 7: too large for that */
		{ SECTION_ON(0) + 5200, 50 },     /* 8 */
		{ SECTION_ON(0) + 5100, 50 },     /* 9: behind the end */
	};
	uint64_t ordinals[PICK_FILES] = { 2, 3, 4 };
	struct pick_taken taken = { 0 };

	make(files, 8);
	assert_int_equal(pick_among(index_of, ordinals, 3, 5, 9, &taken), 5);
	assert_int_equal(ordinals[3], 5);
	assert_int_equal(ordinals[4], 8);
	assert_int_equal(pick_among(index_of, ordinals, 3, 5, 9, &taken), 3); /* nothing twice */
	assert_false(pick_was_taken(&taken, 6));
	assert_true(pick_was_taken(&taken, 5));
	assert_false(pick_was_taken(&taken, 5));
	assert_true(pick_was_taken(&taken, 8));
	assert_int_equal(pick_among(index_of, ordinals, 0, 5, 9, &taken), 0);
	index_close(index_of);
}

CHECK_MAIN(cmocka_unit_test(test_among))
