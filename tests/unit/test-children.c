/* SPDX-License-Identifier: MIT */
/* Ordinals of a directory's entries, and whose entry an ordinal is: against what a walk over all names says. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "image/catalogue/index_load.h"
#include "image/children.h"
#include "image/index.h"
#include "lib/check.h"
#include "lib/section.h"

static const uint64_t sizes[1] = { 1u << 30 };
static struct section section; /* large: not on the stack */
static struct index *index_now;
static struct children *children;

static void open_section(void)
{
	struct version version;
	int fd = section_write(&section, &version);

	CHECK_OK(index_load_fd(fd, &version, sizes[0], NULL, &index_now, &err));
	CHECK_OK(children_open(index_now, &children, &err));
}

static void close_section(void)
{
	children_free(children);
	index_close(index_now);
}

/* Parents and children, as a walk of the names finds them. */
struct model {
	uint64_t parent[SECTION_MAX + 1]; /* of an ordinal's first name */
	uint64_t first[SECTION_MAX + 2], count[SECTION_MAX + 2];
	uint64_t highest;
};

static int model_see(void *argument, uint64_t directory, const struct names_entry *entry)
{
	struct model *model = argument;

	if (entry->ordinal != model->highest + 1)
		return 0;
	model->parent[++model->highest] = directory;
	if (!model->count[directory]++)
		model->first[directory] = entry->ordinal;
	return 0;
}

static void check_all(void)
{
	static struct model model;
	struct children_range range;
	struct children_start start;

	model = (struct model){ .highest = 1 };
	assert_int_equal(names_walk(index_now->names, model_see, &model), 0);
	assert_int_equal(model.highest, section.inode_count);
	for (uint64_t ordinal = 1; ordinal <= section.inode_count; ordinal++) {
		CHECK_OK(children_range(children, index_now, ordinal, &range, &err));
		assert_int_equal(range.count, model.count[ordinal]);
		if (range.count)
			assert_int_equal(range.first, model.first[ordinal]);
		if (ordinal == 1)
			continue;
		CHECK_OK(children_find(children, index_now, ordinal, &start, &err));
		assert_int_equal(start.directory, model.parent[ordinal]);
		assert_int_equal(start.first, model.first[start.directory]);
	}
}

static void test_lone_root(void **state)
{
	struct children_range range;
	struct children_start start;

	section_init(&section);
	open_section();
	assert_null(children);
	CHECK_OK(children_range(children, index_now, 1, &range, &err));
	assert_int_equal(range.count, 0);
	CHECK_FAILS(children_find(children, index_now, 1, &start, &err), -EINVAL,
		    "no directory has inode 1 of 1");
	CHECK_FAILS(children_find(children, index_now, 2, &start, &err), -EINVAL,
		    "no directory has inode 2 of 1");
	CHECK_FAILS(children_find(children, index_now, UINT64_MAX, &start, &err), -EINVAL,
		    "no directory has inode 18446744073709551615 of 1");
	close_section();
}

/* Directories with marks and without, empty ones between them. */
static void test_without_hard_links(void **state)
{
	uint64_t directories[5];
	char name[32];

	section_init(&section);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		directories[i] = section_directory(&section, 1, name);
	}
	section_file(&section, 1, "file", 0, 0);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		section_file(&section, directories[1], name, 0, 0);
	}
	section_file(&section, directories[3], "one", 0, 0);
	section_directory(&section, directories[4], "below");
	open_section();
	assert_null(children);
	check_all();
	close_section();
}

/* Directories that begin with hard links, have nothing else, or end with them. */
static void test_with_hard_links(void **state)
{
	uint64_t directories[6], file;
	char name[32];

	section_init(&section);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		directories[i] = section_directory(&section, 1, name);
	}
	file = section_file(&section, 1, "file", 0, 0);
	section_hard_link(&section, directories[0], "a", file);
	section_file(&section, directories[0], "b", 0, 0);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		section_hard_link(&section, directories[1], name, file);
	}
	section_hard_link(&section, directories[3], "a", file + 1);
	section_file(&section, directories[3], "b", 0, 0);
	section_hard_link(&section, directories[3], "c", file + 2);
	section_file(&section, directories[3], "d", 0, 0);
	section_hard_link(&section, directories[5], "z", file);
	open_section();
	assert_non_null(children);
	check_all();
	close_section();
}

/* A random tree, level by level: entries are directories, files or further names of files. */
static void grow(unsigned seed)
{
	unsigned state = seed;
	char name[32];

	section_init(&section);
	for (uint64_t at = 1; at <= section.inode_count && section.entry_count < SECTION_MAX - 260; at++) {
		unsigned entries = (unsigned)rand_r(&state) % 10 ? (unsigned)rand_r(&state) % 8 : 250;

		if ((dsfs_le32_get(section.class_table[section.classes[at - 1]].mode) & 0170000) != 0040000)
			continue;
		for (unsigned i = 0; i < entries; i++) {
			uint64_t other = (uint64_t)rand_r(&state) % section.inode_count + 1;
			unsigned kind = (unsigned)rand_r(&state) % 4;

			snprintf(name, sizeof(name), "%04u", i);
			if (kind == 0 && i < 40)
				section_directory(&section, at, name);
			else if (kind == 1 && (dsfs_le32_get(section.class_table[other - 1].mode) & 0170000) == 0100000)
				section_hard_link(&section, at, name, other);
			else
				section_file(&section, at, name, 0, 0);
		}
	}
}

static void test_random(void **state)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		print_message("seed %u\n", seed);
		grow(seed);
		open_section();
		check_all();
		close_section();
	}
}

static void test_names_first(void **state)
{
	uint64_t directory, ordinal;

	grow(3);
	open_section();
	assert_int_equal(names_first(index_now->names, 0, &directory, &ordinal), 0);
	assert_int_equal(directory, 1);
	assert_int_equal(ordinal, 2);
	assert_int_equal(names_first(index_now->names, section.inode_count, &directory, &ordinal), -ENOENT);
	assert_int_equal(names_first(index_now->names, (UINT64_C(1) << 40) - 1, &directory, &ordinal), -ENOENT);
	close_section();
}

CHECK_MAIN(cmocka_unit_test(test_lone_root), cmocka_unit_test(test_without_hard_links),
	   cmocka_unit_test(test_with_hard_links), cmocka_unit_test(test_random), cmocka_unit_test(test_names_first))
