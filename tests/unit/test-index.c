/* SPDX-License-Identifier: MIT */
/* The index: what is written is found again, and what a hostile publisher writes is refused with its reason. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image/catalogue/dump.h"
#include "image/catalogue/index_load.h"
#include "image/catalogue/version.h"
#include "image/index.h"
#include "image/inode.h"
#include "image/names/names.h"
#include "lib/check.h"
#include "lib/section.h"

static const uint64_t sizes[1] = { 1u << 30 };
static struct section section; /* large: not on the stack */
static struct version version;

static int open_section(struct index **ret, struct error *err)
{
	int fd = section_write(&section, &version);
	int r = index_load_fd(fd, &version, sizes[0], NULL, ret, err);

	if (r < 0)
		close(fd);
	return r;
}

static void refuses(const char *reason)
{
	struct index *index;

	CHECK_FAILS(open_section(&index, &err), -EBADMSG, reason);
}

static void make_tree(void)
{
	uint64_t a;
	char name[32];

	section_init(&section);
	a = section_directory(&section, 1, "a");
	section_file(&section, 1, "b", 0, 0);
	section_symlink(&section, 1, "c", "a/f007");
	for (int i = 0; i < 400; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		section_file(&section, a, name, 0, 0);
	}
	section_hard_link(&section, a, "link", 3);
}

static void test_lookup(void **state)
{
	struct index *index;
	uint64_t ordinal;

	make_tree();
	CHECK_OK(open_section(&index, &err));
	assert_int_equal(names_lookup(index->names, 1, "c", 1, &ordinal), 0);
	assert_int_equal(ordinal, 4);
	assert_int_equal(names_lookup(index->names, 2, "f007", 4, &ordinal), 0);
	assert_int_equal(ordinal, 12);
	assert_int_equal(names_lookup(index->names, 2, "link", 4, &ordinal), 0);
	assert_int_equal(ordinal, 3);
	assert_int_equal(names_lookup(index->names, 1, "d", 1, &ordinal), -ENOENT);
	assert_int_equal(names_lookup(index->names, 2, "", 0, &ordinal), -ENOENT);
	assert_int_equal(names_lookup(index->names, 2, "\0\0\0\0\1", 5, &ordinal), -ENOENT);
	assert_int_equal(names_lookup(index->names, 77, "a", 1, &ordinal), -ENOENT);
	index_close(index);
}

struct listing {
	uint64_t next;
	unsigned count, stop_after;
};

static int take_entry(void *argument, const struct names_entry *entry)
{
	struct listing *listing = argument;
	char expected[32];

	assert_int_equal(entry->number, listing->next);
	if (entry->number < 400) {
		snprintf(expected, sizeof(expected), "f%03d", (int)entry->number);
		assert_int_equal(entry->name_length, 4);
		assert_memory_equal(entry->name, expected, 4);
		assert_int_equal(entry->type, DT_REG);
	}
	listing->next++;
	return ++listing->count == listing->stop_after ? 7 : 0;
}

static void test_list_from_every_position(void **state)
{
	struct index *index;

	make_tree();
	CHECK_OK(open_section(&index, &err));
	for (uint64_t first = 0; first <= 401; first++) {
		struct listing listing = { .next = first };

		assert_int_equal(names_list(index->names, 2, first, take_entry, &listing), 0);
		assert_int_equal(listing.count, 401 - first);
	}
	struct listing listing = { .next = 130, .stop_after = 2 };
	assert_int_equal(names_list(index->names, 2, 130, take_entry, &listing), 7);
	assert_int_equal(listing.count, 2);
	listing = (struct listing){ .next = 5000 };
	assert_int_equal(names_list(index->names, 2, 5000, take_entry, &listing), 0);
	index_close(index);
}

/* Lists the same directory, from a listing of it. */
static int list_again(void *argument, const struct names_entry *entry)
{
	struct listing listing = { .next = entry->number };

	assert_int_equal(names_list(((struct index *)argument)->names, 2, entry->number, take_entry, &listing), 0);
	assert_int_equal(listing.count, 401 - entry->number);
	return entry->number == 9 ? 10 : 0;
}

static void *list_often(void *index)
{
	for (int i = 0; i < 200; i++)
		assert_int_equal(names_list(((struct index *)index)->names, 2, 0, list_again, index), 10);
	return NULL;
}

/* Threads list at the same time, and while they list. */
static void test_listings_beside_each_other(void **state)
{
	pthread_t threads[4];
	struct index *index;

	make_tree();
	CHECK_OK(open_section(&index, &err));
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, list_often, index), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	index_close(index);
}

static void test_path(void **state)
{
	struct index *index;
	char path[64];

	make_tree();
	CHECK_OK(open_section(&index, &err));
	inode_path(index, 12, path, sizeof(path));
	assert_string_equal(path, "/a/f007");
	inode_path(index, 1, path, sizeof(path));
	assert_string_equal(path, "/");
	inode_path(index, 9999, path, sizeof(path));
	assert_string_equal(path, "inode 9999");
	index_close(index);

	section_init(&section);
	section_directory(&section, 1, "a");
	section_directory(&section, 1, "b");
	section_directory(&section, 3, "c");
	section_file(&section, 4, "d", 0, 0);
	section_hard_link(&section, 4, "e", 5);
	CHECK_OK(open_section(&index, &err));
	inode_path(index, 4, path, sizeof(path));
	assert_string_equal(path, "/b/c");
	inode_path(index, 5, path, sizeof(path));
	assert_string_equal(path, "/b/c/d");
	inode_path(index, 5, path, 5); /* the end says most */
	assert_string_equal(path, "/c/d");
	index_close(index);
}

static int collect(void *argument, const char *text, size_t length)
{
	strncat(argument, text, length);
	return 0;
}

static void test_dump(void **state)
{
	static char text[65536], expected[1024];
	struct index *index;

	section_init(&section);
	section_chunk(&section, 1u << 20, 0xabc, 5, DSFS_CODEC_RAW);
	section_file(&section, 1, "b \\\xff", 5, 0);
	section_symlink(&section, 1, "c", "b");
	CHECK_OK(open_section(&index, &err));
	text[0] = 0;
	CHECK_OK(dump_text(index, collect, text, &err));
	snprintf(expected, sizeof(expected), "datasetfs dump 1\nchunk 131072 %s\n"
		 "1 d 0755 1000 100 1700000000.000000005 1 2 1 /\n"
		 "2 f 0644 1000 100 1700000000.000000005 1 5 1 b\\x20\\x5c\\xff\n"
		 " c 5 %s\n"
		 "3 l 0777 1000 100 1700000000.000000005 1 1 1 c\n"
		 " t b\n", sum_name(section_sums), section_sums == DSFS_SUM_SHA256 ?
		 "bc0a000000000000000000000000000000000000000000000000000000000000" : "0000000000000abc");
	assert_string_equal(text, expected);
	index_close(index);
}

static void test_same_entries_same_bytes(void **state)
{
	uint8_t *first;
	int a, b;

	make_tree();
	a = section_write(&section, &version);
	b = section_write(&section, &version);
	first = mmap(NULL, version.index.length, PROT_READ, MAP_SHARED, a, 0);
	assert_memory_equal(first, mmap(NULL, version.index.length, PROT_READ, MAP_SHARED, b, 0), version.index.length);
	close(a);
	close(b);
}

static void test_hostile_names(void **state)
{
	section_init(&section);
	section_file(&section, 1, "..", 0, 0);
	refuses("illegal name");
	section_init(&section);
	section_file(&section, 1, "a/b", 0, 0);
	refuses("illegal name");
	section_init(&section);
	section_file(&section, 1, ".", 0, 0);
	refuses("illegal name");
	section_init(&section);
	section_file(&section, 1, "a", 0, 0);
	section.entries[0].name[1] = 0; /* the name is "a" and a NUL */
	section.entries[0].length = 2;
	refuses("illegal name");
}

/* The folder that tells about a mount is the mount's own, whatever stands in its place. */
static void test_taken_name(void **state)
{
	static const char name[] = ".datasetfs";
	struct index *index;
	uint64_t folder;

	section_init(&section);
	folder = section_directory(&section, 1, name);
	section_file(&section, folder, "version", 0, 0);
	refuses("names: the root has an entry '.datasetfs', which is the name of the mount's own directory");
	section_init(&section);
	section_file(&section, 1, name, 0, 0);
	refuses("names: the root has an entry '.datasetfs'");
	section_init(&section);
	section_symlink(&section, 1, name, "elsewhere");
	refuses("names: the root has an entry '.datasetfs'");
	section_init(&section); /* elsewhere and other names are free */
	section_file(&section, 1, ".DATASETFS", 0, 0);
	section_file(&section, 1, ".datasetf", 0, 0);
	section_file(&section, 1, ".datasetfs2", 0, 0);
	folder = section_directory(&section, 1, "a");
	section_file(&section, folder, name, 0, 0);
	CHECK_OK(open_section(&index, &err));
	index_close(index);
}

static void test_hostile_ordinals(void **state)
{
	make_tree();
	section.entries[1].ordinal = 9;
	refuses("ordinal 9 after 2");
	make_tree();
	section.entries[1].ordinal = 2; /* a directory under two names */
	section.entries[1].type = DT_DIR;
	refuses("ordinal 2 after 2");
	make_tree();
	section.inodes[1].where = 2; /* its own parent */
	refuses("does not match inode 2");
	make_tree();
	section.inodes[1].size = 3;
	refuses("has 401 entries");
	section_init(&section);
	section.inodes[section_directory(&section, 1, "empty") - 1].size = 1;
	section_file(&section, 1, "file", 0, 0);
	refuses("directories up to 2 claim more than the 2 entries there are");
	make_tree();
	section.entries[0].type = DT_REG;
	refuses("does not match inode 2");
	section_init(&section); /* a directory that there is not */
	section_file(&section, 1, "file", 0, 0);
	section.entries[0].directory = 0;
	section.inodes[0].size = 0;
	refuses("entries of directory 0 come before the directory");
	make_tree();
	section.inode_count++;
	section.inodes[section.inode_count - 1] = section.inodes[2];
	refuses("inodes, expected");
}

static void test_hostile_inodes(void **state)
{
	make_tree();
	section.inodes[2].size = 1; /* one chunk, but there is none */
	refuses("impossible mode");
	make_tree();
	section.classes[2] = 100000;
	refuses("class 100000");
	make_tree();
	section.inodes[2].mtime_nsec = 1000000000;
	refuses("nanoseconds");
	make_tree();
	section.inodes[3].where = 65000; /* target outside the blob */
	refuses("impossible mode");
	make_tree();
	section.class_table[2].mode = dsfs_le32_of(0020644); /* a device */
	refuses("impossible mode");
	make_tree();
	section.class_table[2].mode = dsfs_le32_of(1u << 31 | 0100644); /* a bit that no digest has */
	refuses("impossible mode");
}

/* LMDB asserts that a branch page has two children: a page with one is a way to abort it. */
static void test_branch_with_one_child(void **state)
{
	uint16_t lower = 0;
	struct index *index;
	unsigned refused = 0;

	make_tree();
	for (uint64_t page = 2; page < 12; page++) {
		int fd = section_write(&section, &version);
		uint16_t flags = 0;

		assert_int_equal(pread(fd, &flags, 2, (off_t)(page * DSFS_BLOCK + 10)), 2);
		lower = 18; /* one node */
		assert_int_equal(pwrite(fd, &lower, 2, (off_t)(page * DSFS_BLOCK + 12)), 2);
		if (page * DSFS_BLOCK < version.shape.names_length && flags == 1) {
			CHECK_FAILS(index_load_fd(fd, &version, sizes[0], NULL, &index, &err), -EBADMSG,
				    "has one child");
			refused++;
		}
		close(fd);
	}
	assert_int_equal(refused, 1);
}

/* Any single damaged byte in the names part is refused or harmless: the entries read are the same. */
static void test_flipped_bytes_in_names(void **state)
{
	struct index *index;
	unsigned refused = 0;

	make_tree();
	for (uint64_t at = 0; at < 12288; at += 29) {
		int fd = section_write(&section, &version);
		uint8_t byte;
		struct error err = { 0 };

		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= (uint8_t)(1u << at % 8);
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		if (index_load_fd(fd, &version, sizes[0], NULL, &index, &err) < 0) {
			refused++;
			assert_true(err.reason[0]);
			close(fd);
		} else {
			static char text[1 << 20];

			text[0] = 0;
			assert_int_equal(dump_text(index, collect, text, &err), 0);
			index_close(index);
		}
	}
	assert_true(refused > 25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup), cmocka_unit_test(test_list_from_every_position),
		cmocka_unit_test(test_listings_beside_each_other), cmocka_unit_test(test_path),
		cmocka_unit_test(test_dump), cmocka_unit_test(test_same_entries_same_bytes),
		cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_taken_name),
		cmocka_unit_test(test_hostile_ordinals), cmocka_unit_test(test_hostile_inodes),
		cmocka_unit_test(test_branch_with_one_child), cmocka_unit_test(test_flipped_bytes_in_names)
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	section_sums = DSFS_SUM_SHA256; /* the same with longer records */
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
