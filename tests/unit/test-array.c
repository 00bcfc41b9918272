/* SPDX-License-Identifier: MIT */
/* Members as one byte source: who gets what, and who is missing. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/array.h"
#include "lib/check.h"
#include "lib/memory.h"

#define MEMBER_SIZE 8192u

struct array_file {
	struct file_source file;
	struct memory memory;
};

static int array_file_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			   struct error *err)
{
	return source_read(&((struct array_file *)source)->memory.source, member, offset, buffer, length, err);
}

static int array_file_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer,
			    size_t length, struct error *err)
{
	return source_write(&((struct array_file *)source)->memory.source, member, offset, buffer, length, err);
}

static int array_file_flush(struct source *source, struct error *err)
{
	return source_flush(&((struct array_file *)source)->memory.source, err);
}

static uint64_t array_file_size(struct source *source, uint32_t member)
{
	return source_size(&((struct array_file *)source)->memory.source, member);
}

static const struct source_ops file_ops = { .read = array_file_read, .write = array_file_write,
					    .flush = array_file_flush, .size = array_file_size };

/* A file in memory that array_close() frees. */
static struct array_file *file_of(uint32_t logical_block)
{
	struct array_file *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	memory_init(&file->memory, MEMBER_SIZE);
	file->file = (struct file_source){ .source.ops = &file_ops,
					   .geometry = { .logical_block = logical_block, .size = MEMBER_SIZE },
					   .fd = -1 };
	return file;
}

/* An array of this file alone. */
static struct array_source *array_of(struct file_source *file)
{
	struct array_source *array;

	CHECK_OK(array_new(1, &array, &err));
	(void)array_put(array, 0, file);
	return array;
}

static void test_another_slot(void **state)
{
	struct array_file *files[2] = { file_of(512), file_of(4096) };
	struct array_source *array = array_of(&files[0]->file);
	uint8_t block[512] = "added";

	CHECK_OK(array_add(array, &err));
	assert_int_equal(array->count, 2);
	assert_int_equal(array->fds[2], -1);
	CHECK_FAILS(source_read(&array->source, 1, 0, block, sizeof(block), &err), -ENODEV, "member 1 is missing");
	assert_null(array_put(array, 1, &files[1]->file));
	CHECK_OK(source_write(&array->source, 1, 0, block, sizeof(block), &err));
	assert_int_equal(array->geometry[0].logical_block, 4096);
	for (uint32_t i = 0; i < 2; i++)
		memory_done(&files[i]->memory);
	array_close(array);
}

static void test_each_member_gets_its_own(void **state)
{
	struct array_file *files[2] = { file_of(512), file_of(4096) };
	struct array_source *array;
	uint8_t block[512];

	CHECK_OK(array_new(2, &array, &err));
	for (uint32_t i = 0; i < 2; i++)
		assert_null(array_put(array, i, &files[i]->file));
	for (uint32_t i = 0; i < 2; i++) {
		memset(block, (int)('a' + i), sizeof(block));
		CHECK_OK(source_write(&array->source, i, 512, block, sizeof(block), &err));
	}
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(files[i]->memory.bytes[512], 'a' + i);
		CHECK_OK(source_read(&array->source, i, 512, block, sizeof(block), &err));
		assert_int_equal(block[511], 'a' + i);
	}
	files[1]->memory.size = 4096;
	assert_int_equal(source_size(&array->source, 0), MEMBER_SIZE);
	assert_int_equal(source_size(&array->source, 1), 4096);
	assert_int_equal(source_size(&array->source, 2), 0);
	for (uint32_t i = 0; i < 2; i++)
		memory_done(&files[i]->memory);
	array_close(array);
}

static void test_a_flush_is_one_of_all(void **state)
{
	struct array_file *files[2] = { file_of(512), file_of(512) };
	struct array_source *array;

	CHECK_OK(array_new(3, &array, &err));
	(void)array_put(array, 0, &files[0]->file);
	(void)array_put(array, 2, &files[1]->file);
	CHECK_OK(source_flush(&array->source, &err));
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(files[i]->memory.calls, 1);
	files[1]->memory.fail_at = 2;
	CHECK_FAILS(source_flush(&array->source, &err), -EIO, "member 2: injected failure");
	for (uint32_t i = 0; i < 2; i++)
		memory_done(&files[i]->memory);
	array_close(array);
}

static void test_a_missing_member_is_named(void **state)
{
	struct array_file *file = file_of(512);
	struct array_source *array;
	uint8_t block[512] = { 0 };

	CHECK_OK(array_new(2, &array, &err));
	(void)array_put(array, 1, &file->file);
	CHECK_FAILS(source_read(&array->source, 0, 0, block, sizeof(block), &err), -ENODEV, "member 0 is missing");
	CHECK_FAILS(source_write(&array->source, 0, 0, block, sizeof(block), &err), -ENODEV, "member 0 is missing");
	CHECK_FAILS(source_read(&array->source, 2, 0, block, sizeof(block), &err), -EINVAL, "the volume has 2");
	assert_int_equal(source_size(&array->source, 0), 0);
	assert_int_equal(array->fds[0], -1);
	memory_done(&file->memory);
	array_close(array);
}

/* A read that fails on one member goes to another one as it is. */
static void test_reads_are_aligned_for_all(void **state)
{
	struct array_file *files[2] = { file_of(512), file_of(4096) };
	struct array_source *array;

	CHECK_OK(array_new(2, &array, &err));
	(void)array_put(array, 0, &files[0]->file);
	assert_int_equal(array->geometry[0].logical_block, 512);
	(void)array_put(array, 1, &files[1]->file);
	assert_int_equal(array->geometry[0].logical_block, 4096);
	assert_ptr_equal(array_put(array, 1, NULL), &files[1]->file);
	assert_int_equal(array->geometry[0].logical_block, 512);
	for (uint32_t i = 0; i < 2; i++)
		memory_done(&files[i]->memory);
	file_close(&files[1]->file);
	array_close(array);
}

/* The reason is that of the file alone. */
static void test_one_member_is_not_numbered(void **state)
{
	struct array_file *file = file_of(512);
	struct array_source *array;
	struct error why = { 0 };
	uint8_t block[512];

	array = array_of(&file->file);
	assert_int_equal(source_read(&array->source, 0, MEMBER_SIZE, block, sizeof(block), &why), -ENODATA);
	assert_string_equal(why.reason, "read past the end");
	memory_done(&file->memory);
	array_close(array);
}

/* A file with this byte, opened for reading. */
static struct file_source *real_file(char byte)
{
	char name[] = "/tmp/test-array.XXXXXX", bytes[MEMBER_SIZE];
	struct file_source *file = NULL;
	int fd = mkstemp(name);

	memset(bytes, byte, sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	CHECK_OK(file_open(name, FILE_READ, &file, &err));
	unlink(name);
	return file;
}

/* A slot keeps the number of its descriptor, whoever comes into it. */
static void test_a_member_comes_later(void **state)
{
	struct array_source *array;
	uint8_t block[512];
	int number;

	CHECK_OK(array_new(2, &array, &err));
	(void)array_put(array, 0, real_file('a'));
	CHECK_OK(array_reserve(array, &err));
	number = array->fds[1];
	assert_true(number >= 0);
	assert_false(array_has(array, 1));
	CHECK_FAILS(source_read(&array->source, 1, 0, block, sizeof(block), &err), -ENODEV, "member 1 is missing");
	for (char byte = 'b'; byte <= 'c'; byte++) {
		CHECK_OK(array_adopt(array, 1, real_file(byte), &err));
		assert_true(array_has(array, 1));
		assert_int_equal(array->fds[1], number);
		assert_int_equal(array->files[1]->fd, number);
		assert_int_equal(array->geometry[1].size, MEMBER_SIZE);
		CHECK_OK(source_read(&array->source, 1, 512, block, sizeof(block), &err));
		assert_int_equal(block[7], byte);
	}
	array_close(array);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

/* The geometry of a member changes with its file: a file without direct I/O, one with it, and back. */
static void test_a_member_is_of_another_kind(void **state)
{
	struct array_source *array;
	struct file_source *file;
	uint8_t block[512];

	CHECK_OK(array_new(1, &array, &err));
	(void)array_put(array, 0, real_file('a'));
	for (int i = 0; i < 4; i++) {
		file = real_file('b');
		file->geometry.is_direct = i % 2;
		file->geometry.is_block_device = i / 2;
		file->geometry.size = 4096u << i;
		CHECK_OK(array_adopt(array, 0, file, &err));
		assert_int_equal(array->files[0]->geometry.is_direct, i % 2);
		assert_int_equal(array->files[0]->geometry.is_block_device, i / 2);
		assert_int_equal(array->geometry[0].is_direct, i % 2);
		assert_int_equal(array->geometry[0].is_block_device, i / 2);
		assert_int_equal(array->geometry[0].size, 4096u << i);
		assert_int_equal(source_size(&array->source, 0), i / 2 ? 4096u << i : MEMBER_SIZE);
	}
	array_close(array);
	array = array_of(real_file('a'));
	array->files[0]->geometry.is_direct = false;
	CHECK_OK(array_adopt(array, 0, real_file('b'), &err)); /* with direct I/O, where /tmp has it */
	CHECK_OK(source_read(&array->source, 0, 7, block + 1, 100, &err));
	assert_int_equal(block[100], 'b');
	array_close(array);
}

/* Nobody came. */
static void test_a_number_for_nobody(void **state)
{
	struct array_source *array;
	int number;

	CHECK_OK(array_new(1, &array, &err));
	CHECK_OK(array_reserve(array, &err));
	number = array->fds[0];
	array_close(array);
	assert_int_equal(fcntl(number, F_GETFD), -1);
}

CHECK_MAIN(cmocka_unit_test(test_each_member_gets_its_own), cmocka_unit_test(test_a_flush_is_one_of_all),
	   cmocka_unit_test(test_a_missing_member_is_named), cmocka_unit_test(test_reads_are_aligned_for_all),
	   cmocka_unit_test(test_a_member_comes_later), cmocka_unit_test(test_a_member_is_of_another_kind),
	   cmocka_unit_test(test_a_number_for_nobody), cmocka_unit_test(test_one_member_is_not_numbered),
	   cmocka_unit_test(test_another_slot))
