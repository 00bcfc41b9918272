/* SPDX-License-Identifier: MIT */
/* Look-ups of names in steps: every name is found and no other, by turns as well as alone, and damaged pages lead
 * nowhere outside of the names. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/names/names_find.h"
#include "lib/check.h"
#include "lib/section.h"

enum { FOLDERS = 9, FILES = 100, TURNS = 8 };

static struct section section; /* large: not on the stack */
static struct names_tree tree;
static char names[FOLDERS][FILES][DSFS_NAME_MAX + 1];

/* Ascending; short ones are the beginning of long ones, which fill pages so that the tree has three levels. */
static void make_names(void)
{
	for (unsigned i = 0; i < FOLDERS; i++)
		for (unsigned j = 0; j < FILES; j++) {
			int length = snprintf(names[i][j], sizeof(names[i][j]), "f%04u", j / 2 * 7);

			if (j % 2)
				memset(names[i][j] + length, 'a' + (int)i, (size_t)(DSFS_NAME_MAX - length - (int)j));
		}
}

static uint64_t file_ordinal(unsigned i, unsigned j)
{
	return 2 + FOLDERS + i * FILES + j;
}

static int set_up(void **state)
{
	static struct version version;
	uint64_t folders[FOLDERS];
	struct span file;
	char name[16];
	int fd;

	make_names();
	section_init(&section);
	for (unsigned i = 0; i < FOLDERS; i++) {
		snprintf(name, sizeof(name), "d%u", i);
		folders[i] = section_directory(&section, 1, name);
		assert_int_equal(folders[i], 2 + i);
	}
	for (unsigned i = 0; i < FOLDERS; i++)
		for (unsigned j = 0; j < FILES; j++)
			assert_int_equal(section_file(&section, folders[i], names[i][j], 0, 0), file_ordinal(i, j));
	fd = section_write(&section, &version);
	/* Of exactly this size, so that a sanitizer sees what is read behind it. */
	file = (struct span){ malloc(version.shape.names_length), version.shape.names_length };
	assert_non_null(file.base);
	assert_int_equal(pread(fd, (void *)file.base, file.size, 0), (ssize_t)file.size);
	close(fd);
	CHECK_OK(names_find_open(file, &tree, &err));
	assert_true(tree.depth >= 3);
	return 0;
}

static int tear_down(void **state)
{
	free((void *)tree.file.base);
	return 0;
}

static int find(uint64_t directory, const char *name, size_t length, uint64_t *ret_ordinal)
{
	struct names_find find;
	int r;

	names_find_begin(&find, &tree, directory, name, length);
	do
		r = names_find_step(&find, ret_ordinal);
	while (r > 0);
	return r;
}

static void test_every_name(void **state)
{
	uint64_t ordinal;

	for (unsigned i = 0; i < FOLDERS; i++)
		for (unsigned j = 0; j < FILES; j++) {
			assert_int_equal(find(2 + i, names[i][j], strlen(names[i][j]), &ordinal), 0);
			assert_int_equal(ordinal, file_ordinal(i, j));
		}
}

static void test_no_other_name(void **state)
{
	char name[DSFS_NAME_MAX + 2];
	uint64_t ordinal;
	size_t length;

	for (unsigned j = 0; j < FILES; j++) {
		length = (size_t)snprintf(name, sizeof(name), "%sx", names[3][j]);
		assert_int_equal(find(5, name, length, &ordinal), -ENOENT);
		assert_int_equal(find(5, name, length - 2, &ordinal), -ENOENT);
		name[0]++;
		assert_int_equal(find(5, name, length - 1, &ordinal), -ENOENT);
		assert_int_equal(find(2 + FOLDERS, names[3][j], length - 1, &ordinal), -ENOENT);
	}
	assert_int_equal(find(5, "", 0, &ordinal), -ENOENT);
	assert_int_equal(find(5, "\0\0\0\0\1", 5, &ordinal), -ENOENT);
	memset(name, 'a', sizeof(name));
	assert_int_equal(find(5, name, DSFS_NAME_MAX + 1, &ordinal), -ENOENT);
	assert_int_equal(find(0, "~", 1, &ordinal), -ENOENT);
	assert_int_equal(find(UINT32_MAX, "~", 1, &ordinal), -ENOENT);
}

static void test_by_turns(void **state)
{
	struct names_find finds[TURNS];
	uint64_t ordinals[TURNS];
	unsigned left;

	for (unsigned j = 0; j < FILES; j++) {
		for (unsigned i = 0; i < TURNS; i++)
			names_find_begin(&finds[i], &tree, 2 + i, names[i][j], strlen(names[i][j]));
		for (left = (1u << TURNS) - 1; left;)
			for (unsigned i = 0; i < TURNS; i++)
				if (left >> i & 1 && names_find_step(&finds[i], &ordinals[i]) == 0)
					left &= ~(1u << i);
		for (unsigned i = 0; i < TURNS; i++)
			assert_int_equal(ordinals[i], file_ordinal(i, j));
	}
}

static void test_again(void **state)
{
	struct names_find find, other;
	uint64_t ordinal, place;

	names_find_begin(&find, &tree, 4, names[2][17], strlen(names[2][17]));
	while (names_find_step(&find, &ordinal) > 0)
		;
	place = names_find_place(&find);
	names_find_begin(&other, &tree, 4, names[2][17], strlen(names[2][17]));
	ordinal = 0;
	assert_int_equal(names_find_again(&other, place, &ordinal), 0);
	assert_int_equal(ordinal, file_ordinal(2, 17));
	assert_true(names_find_hash(&find) == names_find_hash(&other));
	names_find_begin(&other, &tree, 4, names[2][16], strlen(names[2][16]));
	assert_int_equal(names_find_again(&other, place, &ordinal), -ENOENT);
	names_find_begin(&other, &tree, 5, names[2][17], strlen(names[2][17]));
	assert_int_equal(names_find_again(&other, place, &ordinal), -ENOENT);
	assert_true(names_find_again(&find, tree.file.size, &ordinal) < 0);
	assert_true(names_find_again(&find, tree.file.size - 2, &ordinal) < 0);
}

/* Pages that come from a daemon are not checked before. */
static void test_damaged_pages(void **state)
{
	uint8_t *bytes = (uint8_t *)tree.file.base;
	struct names_tree kept = tree;
	unsigned seed = 1, failed = 0;
	uint64_t ordinal;

	for (unsigned i = 0; i < 40000; i++) {
		uint64_t at = (uint64_t)rand_r(&seed) % tree.file.size;
		uint8_t former;

		if (i % 2) /* bounds and offsets */
			at = at / 4096 * 4096 + at % 64;
		former = bytes[at];
		bytes[at] = (uint8_t)rand_r(&seed);
		CHECK_OK(names_find_open(kept.file, &tree, &err));
		for (unsigned j = 0; j < 4; j++)
			failed += find(2 + j, names[j][i % FILES], strlen(names[j][i % FILES]), &ordinal) < 0;
		bytes[at] = former;
		tree = kept;
	}
	assert_true(failed > 1000);
	CHECK_FAILS(names_find_open((struct span){ bytes, 4096 }, &kept, &err), -EBADMSG, "are too few");
}

CHECK_MAIN_WITH(set_up, tear_down, cmocka_unit_test(test_every_name), cmocka_unit_test(test_no_other_name),
		cmocka_unit_test(test_by_turns), cmocka_unit_test(test_again), cmocka_unit_test(test_damaged_pages))
