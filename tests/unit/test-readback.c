/* SPDX-License-Identifier: MIT */
/* The packer finds out before it publishes when a device has changed bytes that it accepted. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "datasetfs/format.h"
#include "lib/check.h"
#include "lib/memory.h"
#include "output/readback.h"

#define WRITES 3u
#define LENGTH (4 * DSFS_BLOCK)
#define SIZE   (WRITES * LENGTH)

/* Memory whose every read after the first `right` ones has a wrong byte at its begin. */
struct forgetful {
	struct source source;
	struct memory memory;
	_Atomic unsigned reads;
	unsigned right;
};

static int forgetful_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
			  struct error *err)
{
	struct forgetful *forgetful = (struct forgetful *)source;
	int r = source_read(&forgetful->memory.source, member, offset, buffer, length, err);

	if (atomic_fetch_add(&forgetful->reads, 1) >= forgetful->right)
		*(uint8_t *)buffer ^= 1;
	return r;
}

static int forgetful_flush(struct source *source, struct error *err)
{
	return source_flush(&((struct forgetful *)source)->memory.source, err);
}

static const struct source_ops forgetful_ops = { .read = forgetful_read, .flush = forgetful_flush };

static struct temp *temp;
static struct memory memory;
static struct readback *readback;

/* Three writes that the device accepted. */
static void begin(struct source *source, struct memory *bytes)
{
	CHECK_OK(temp_open("/tmp", &temp, &err));
	memory_init(bytes, SIZE);
	for (size_t i = 0; i < SIZE; i++)
		bytes->bytes[i] = (uint8_t)(i * 7 + i / 251);
	CHECK_OK(readback_open(source, temp, &readback, &err));
	for (uint64_t i = 0; i < WRITES; i++)
		CHECK_OK(readback_add(readback, i * LENGTH, bytes->bytes + i * LENGTH, LENGTH, &err));
}

static void end(struct memory *bytes)
{
	readback_close(readback);
	temp_close(temp);
	memory_done(bytes);
}

static void test_right(void **state)
{
	begin(&memory.source, &memory);
	CHECK_OK(readback_finish(readback, NULL, &err));
	assert_int_equal(memory.calls, 1 + 2 * WRITES); /* a flush; every write, and its first block once more */
	end(&memory);
}

static void test_wrong(void **state)
{
	begin(&memory.source, &memory);
	memory.bytes[2 * LENGTH - 1] ^= 0x40;
	CHECK_FAILS(readback_finish(readback, NULL, &err), -EIO,
		    "read back at offset 16384: 16384 bytes differ from those written");
	end(&memory);
}

/* Right when it was compared; a later write to another address hit the same place. */
static void test_damaged_later(void **state)
{
	struct forgetful forgetful = { .source.ops = &forgetful_ops, .right = WRITES + 1 };

	begin(&forgetful.source, &forgetful.memory);
	CHECK_FAILS(readback_finish(readback, NULL, &err), -EIO,
		    "read back at offset 16384: 4096 bytes differ from those written");
	end(&forgetful.memory);
}

static void test_every_call_fails(void **state)
{
	for (uint64_t call = 1; call <= 1 + 2 * WRITES; call++) {
		begin(&memory.source, &memory);
		memory.fail_at = call;
		CHECK_FAILS(readback_finish(readback, NULL, &err), -EIO, "injected failure");
		end(&memory);
	}
}

/* A run that is given up does not wait for the rest. */
static void test_given_up(void **state)
{
	begin(&memory.source, &memory);
	readback_close(take_ptr(&readback));
	assert_int_equal(memory.calls, 0);
	end(&memory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),		 cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_damaged_later),	 cmocka_unit_test(test_every_call_fails),
		cmocka_unit_test(test_given_up),
	};

	return cmocka_run_group_tests_name("readback", tests, NULL, NULL);
}
