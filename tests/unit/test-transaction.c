/* SPDX-License-Identifier: MIT */
/* A change of a volume whose device fails: what is undone, where that ends, and what is said then. */
#include <errno.h>
#include <stdlib.h>

#include "lib/check.h"
#include "lib/memory.h"
#include "volume/transaction/commit.h"
#include "volume/transaction/transaction.h"

#define SIZE (4u << 20)

/* Memory as a device. The write of a slot may fail, with or without having done it; what is written later is counted.
 * */
struct device {
	struct source source;
	struct memory memory;
	enum { SLOT_WRITTEN, SLOT_LOST, SLOT_ARRIVED } slot;
	bool issued;
	unsigned later; /* writes after the slot's */
};

static int device_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		       struct error *err)
{
	return source_read(&((struct device *)source)->memory.source, member, offset, buffer, length, err);
}

static int device_write(struct source *source, uint32_t member, uint64_t offset, const void *buffer, size_t length,
			struct error *err)
{
	struct device *device = (struct device *)source;
	bool is_slot = offset < DSFS_PUBLISHER_AT;
	int r = 0;

	device->later += device->issued;
	device->issued |= is_slot;
	if (!is_slot || device->slot != SLOT_LOST)
		r = source_write(&device->memory.source, member, offset, buffer, length, err);
	return r == 0 && is_slot && device->slot != SLOT_WRITTEN ? error_set(err, -EIO, "a bad slot") : r;
}

static int device_flush(struct source *source, struct error *err)
{
	return source_flush(&((struct device *)source)->memory.source, err);
}

static uint64_t device_size(struct source *source, uint32_t member)
{
	return source_size(&((struct device *)source)->memory.source, member);
}

static const struct source_ops device_ops = { .read = device_read, .write = device_write,
					      .flush = device_flush, .size = device_size };

static uint64_t present_size = SIZE;

/* A transaction reads and writes by its own source, and asks the file for its size alone. */
static uint64_t file_size(struct source *source, uint32_t member)
{
	return present_size;
}

static const struct source_ops file_ops = { .size = file_size };

/* One that is locked; close() ends it. */
static struct transaction locked(struct device *device)
{
	struct transaction transaction = { .path = "volume", .member_count = 1, .source = &device->source };
	struct file_source *file = calloc(1, sizeof(*file));

	assert_non_null(file);
	file->source.ops = &file_ops;
	file->geometry.is_block_device = true;
	file->fd = -1;
	CHECK_OK(array_new(1, &transaction.array, &err));
	(void)array_put(transaction.array, 0, file);
	transaction.members = calloc(1, sizeof(*transaction.members));
	assert_non_null(transaction.members);
	transaction.members[0] = (struct transaction_member){ .file = file, .capacity = SIZE };
	holder_read(&device->source, 0, transaction.members[0].former_holder);
	device->issued = false;
	device->later = 0;
	return transaction;
}

/* A volume without a version; its next sequence is what changes. */
static void format(struct device *device)
{
	struct superblock super = { .volume_uuid = "a volume", .member_count = 1, .segment_log = DSFS_SEGMENT_LOG_MIN };
	struct transaction transaction;

	*device = (struct device){ .source.ops = &device_ops };
	memory_init(&device->memory, SIZE);
	transaction = locked(device);
	CHECK_OK(transaction_format(&transaction, &super, NULL, &err));
	CHECK_OK(transaction_commit(&transaction, &err));
	transaction_close(&transaction);
}

static int change(struct device *device, struct error *err)
{
	struct transaction transaction = locked(device);
	int r = transaction_load(&transaction, err);

	if (r == 0)
		r = transaction_check(&transaction, err);
	if (r == 0) {
		transaction.catalogue.next_sequence++;
		r = transaction_commit(&transaction, err);
	}
	if (r < 0 && device->issued)
		assert_false(transaction_can_restart(&transaction));
	transaction_close(&transaction);
	return r;
}

static uint64_t in_force(struct device *device)
{
	struct catalogue catalogue = { 0 };
	struct superblock super;
	uint64_t sequence;

	CHECK_OK(catalogue_load(&device->source, NULL, &super, &catalogue, &err));
	sequence = catalogue.next_sequence;
	catalogue_free(&catalogue);
	return sequence;
}

static bool is_held(struct device *device)
{
	char who[HOLDER_TEXT_SIZE];

	holder_read(&device->source, 0, who);
	return who[0];
}

static void check_next(struct device *device)
{
	uint64_t before = in_force(device);

	device->slot = SLOT_WRITTEN;
	device->memory.fail_at = 0;
	CHECK_OK(change(device, &err));
	assert_int_equal(in_force(device), before + 1);
	assert_false(is_held(device));
}

static void test_change(void **state)
{
	struct device device;

	format(&device);
	assert_int_equal(in_force(&device), 1);
	CHECK_OK(change(&device, &err));
	assert_int_equal(in_force(&device), 2);
	assert_int_equal(device.later, 1); /* the publisher record */
	assert_false(is_held(&device));
	memory_done(&device.memory);
}

/* Each read, write and flush in turn. */
static void test_any_call(void **state)
{
	unsigned undone = 0, told = 0;
	bool reached = true;
	struct device device;

	format(&device);
	for (uint64_t n = 1; reached; n++) {
		uint64_t before = in_force(&device);
		struct error err = { 0 };
		int r;

		device.memory.fail_at = device.memory.calls + n;
		r = change(&device, &err);
		reached = device.memory.calls >= device.memory.fail_at;
		device.memory.fail_at = 0;
		if (r == 0) {
			assert_int_equal(in_force(&device), before + 1);
		} else if (strstr(err.reason, "the change is in force")) {
			assert_int_equal(in_force(&device), before + 1);
			told++;
		} else if (strstr(err.reason, "may be in force or not")) {
			told++;
		} else {
			assert_int_equal(in_force(&device), before);
			assert_false(device.issued);
			assert_false(is_held(&device));
			undone++;
		}
		check_next(&device);
	}
	assert_true(undone && told);
	memory_done(&device.memory);
}

/* Nothing is put back, as a mount may have seen it, or see it yet. */
static void test_bad_slot(struct device *device, const char *reason, uint64_t expected)
{
	CHECK_FAILS(change(device, &err), -EIO, reason);
	assert_int_equal(in_force(device), expected);
	assert_int_equal(device->later, 0);
	assert_true(is_held(device));
	check_next(device);
	memory_done(&device->memory);
}

static void test_slot_lost(void **state)
{
	struct device device;

	format(&device);
	device.slot = SLOT_LOST;
	test_bad_slot(&device, "a bad slot; the change may be in force or not, 'datasetfsctl list' shows which", 1);
}

static void test_slot_arrived(void **state)
{
	struct device device;

	format(&device);
	device.slot = SLOT_ARRIVED;
	test_bad_slot(&device, "a bad slot; the change is in force, but a power loss may take it back", 2);
}

static void enlarge(struct device *device, uint64_t size)
{
	uint8_t *bytes = calloc(1, size);

	assert_non_null(bytes);
	memcpy(bytes, device->memory.bytes, device->memory.size);
	free(device->memory.bytes);
	device->memory.bytes = bytes;
	device->memory.size = device->memory.room = present_size = size;
}

static void check_size(struct device *device, uint64_t size)
{
	struct superblock super;

	CHECK_OK(superblock_find(&device->source, 0, &super, &err));
	assert_int_equal(super.member_size, size);
}

/* The bytes by which a device has grown become the volume's when that is asked for. */
static void test_grown_device(void **state)
{
	struct transaction transaction;
	struct device device;

	format(&device);
	enlarge(&device, 2 * SIZE);
	CHECK_OK(change(&device, &err));
	check_size(&device, SIZE);
	transaction = locked(&device);
	CHECK_OK(transaction_load(&transaction, &err));
	CHECK_OK(transaction_check(&transaction, &err));
	assert_int_equal(transaction_grown(&transaction, 0), SIZE);
	CHECK_OK(transaction_begin(&transaction, &err));
	CHECK_OK(transaction_grow(&transaction, 0, &err));
	assert_int_equal(transaction_grown(&transaction, 0), 0);
	CHECK_OK(transaction_commit(&transaction, &err));
	transaction_close(&transaction);
	check_size(&device, 2 * SIZE);
	present_size = SIZE;
	memory_done(&device.memory);
}

/* The catalogue of a volume whose sequences are used up can still be read. */
static void test_last_sequences(void **state)
{
	const bool is_missing[] = { false, true };
	const struct superblock newest = { .sequence = 5 };
	struct member list[2] = { 0 };
	struct catalogue catalogue = { .next_sequence = DSFS_SEQUENCE_MAX - 5000,
				       .members = { .list = list, .count = 2 } };

	degraded_enter(&catalogue, is_missing, &newest);
	assert_int_equal(catalogue.next_sequence, DSFS_SEQUENCE_MAX + 1);
	degraded_enter(&catalogue, is_missing, &newest);
	assert_int_equal(catalogue.next_sequence, DSFS_SEQUENCE_MAX + 1);
}

CHECK_MAIN(cmocka_unit_test(test_change), cmocka_unit_test(test_any_call), cmocka_unit_test(test_slot_lost),
	   cmocka_unit_test(test_slot_arrived), cmocka_unit_test(test_grown_device),
	   cmocka_unit_test(test_last_sequences))
