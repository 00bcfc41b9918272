/* SPDX-License-Identifier: MIT */
/* Opening versions of a volume that changes, or cannot be read, meanwhile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "image/sums/sha256.h"
#include "lib/check.h"
#include "lib/memory.h"
#include "lib/section.h"
#include "serve/opening/mounted.h"
#include "serve/opening/open.h"
#include "serve/recovery/recovery.h"

#define SIZE      (8u << 20)
#define CATALOGUE (2u << 20) /* that of superblock n lies at CATALOGUE + n * DSFS_BLOCK * 4 */
#define HERE      (4u << 20) /* where an index may lie */
#define THERE     (5u << 20)

static struct memory memory;
static struct superblock super;
static struct serve serve;
static struct visitor_failures failures;
static struct visitor visitor = { .uid = 1000, .failures = &failures };

/* Called once, when something is about to be read at hook_at; reads at fail_at fail. */
static void (*hook)(void);
static uint64_t hook_at, fail_at;

static int hooked_read(struct source *source, uint32_t member, uint64_t offset, void *buffer, size_t length,
		       struct error *err)
{
	void (*call)(void) = hook;

	if (call && offset == hook_at) {
		hook = NULL;
		call();
	}
	if (fail_at && offset == fail_at)
		return error_set(err, -EIO, "injected");
	return source_read(&memory.source, member, offset, buffer, length, err);
}

static uint64_t hooked_size(struct source *source, uint32_t member)
{
	return source_size(&memory.source, member);
}

static const struct source_ops hooked_ops = { .read = hooked_read, .size = hooked_size };
static struct array_source volume = { .source.ops = &hooked_ops, .count = 1 };

/* A version with one directory, its index at an offset. */
static void make_version(struct version *version, const char *label, uint64_t sequence, uint64_t at)
{
	static struct section section;
	int fd;

	section_init(&section);
	section_directory(&section, INODE_ROOT, "directory");
	fd = section_write(&section, version);
	assert_int_equal(pread(fd, memory.bytes + at, version->index.length, 0), version->index.length);
	close(fd);
	CHECK_OK(sha256_of(memory.bytes + at, version->index.length, version->index.sha256, &err));
	CHECK_OK(extent_list_add(&version->index.extents, at, version->index.length, &err));
	snprintf(version->label, sizeof(version->label), "%s", label);
	memset(version->uuid, label[1], sizeof(version->uuid));
	version->sequence = sequence;
}

/* The next state of the volume, with this version only. */
static void publish(const char *label, uint64_t sequence, uint64_t at)
{
	struct catalogue catalogue = { .next_sequence = sequence + 1, .current = sequence };
	struct version version;
	uint8_t *bytes;

	make_version(&version, label, sequence, at);
	memcpy(catalogue.volume_uuid, super.volume_uuid, sizeof(catalogue.volume_uuid));
	super.sequence++;
	super.catalogue_address = CATALOGUE + super.sequence * DSFS_BLOCK * 4;
	CHECK_OK(catalogue_append(&catalogue, &version, &err));
	CHECK_OK(catalogue_encode(&catalogue, &bytes, &super.catalogue_length, &err));
	CHECK_OK(sha256_of(bytes, super.catalogue_length, super.catalogue_sha256, &err));
	CHECK_OK(source_write(&memory.source, 0, super.catalogue_address, bytes, super.catalogue_length, &err));
	CHECK_OK(superblock_write(&memory.source, &super, &err));
	catalogue_free(&catalogue);
	free(bytes);
}

static uint64_t slot_of(uint64_t sequence)
{
	return sequence % DSFS_SLOT_COUNT * DSFS_SLOT_SPACING;
}

/* The state of a mount of v1. */
static int setup(void **state)
{
	struct open_target current = { 0 };
	struct generation *generation;

	log_set_level(LOG_EMERG);
	memory_init(&memory, SIZE);
	hook = NULL;
	fail_at = 0;
	failures = (struct visitor_failures){ 0 };
	visitor.may_switch = false;
	super = (struct superblock){ .volume_uuid = "0123456789abcde", .member_size = SIZE, .member_count = 1,
				     .segment_log = 20 };
	serve = (struct serve){ .volume.array = &volume, .worker_count = 1 };
	CHECK_OK(recovery_new(&serve.recovery, NULL, &err));
	publish("v1", 1, HERE);
	CHECK_OK(open_version(&serve, &current, &generation, &err));
	atomic_store(&serve.generations.current, generation);
	return 0;
}

static int teardown(void **state)
{
	for (unsigned i = 0; i < GENERATIONS_MAX; i++)
		generation_put(atomic_load(&serve.generations.slots[i]));
	recovery_close(serve.recovery);
	memory_done(&memory);
	return 0;
}

static void test_no_older_state(void **state)
{
	struct open_target current = { 0 };
	struct generation *generation;

	publish("v2", 2, THERE);
	CHECK_OK(open_version(&serve, &current, &generation, &err));
	assert_int_equal(generation->sequence, 2);
	fail_at = slot_of(2);
	CHECK_FAILS(open_version(&serve, &current, &generation, &err), -ESTALE,
		    "superblock 1 is the newest that can be read, but 2 was seen before");
	fail_at = 0;
	CHECK_OK(open_version(&serve, &current, &generation, &err));
	assert_int_equal(generation->sequence, 2);
}

static void test_formatted(void **state)
{
	struct open_target target = { .label = "v1" };
	struct generation *generation;

	super.volume_uuid[0]++;
	super.sequence = 0;
	publish("v1", 1, THERE);
	CHECK_FAILS(open_version(&serve, &target, &generation, &err), -ESTALE, "the volume was reformatted");
}

/* Compaction, and then something else lies where the index was. */
static void move_v2(void)
{
	publish("v2", 3, THERE);
	memset(memory.bytes + HERE, 0xee, DSFS_BLOCK);
}

static void test_moved_while_it_is_loaded(void **state)
{
	struct open_target target = { .label = "v2" };
	struct generation *generation;

	publish("v2", 2, HERE);
	hook = move_v2;
	hook_at = HERE;
	CHECK_OK(open_version(&serve, &target, &generation, &err));
	assert_null(hook);
	assert_int_equal(generation->sequence, 3);
}

static void test_damage_is_no_reason_to_go_on(void **state)
{
	struct open_target target = { .label = "v2" };
	struct generation *generation;

	publish("v2", 2, THERE);
	memory.bytes[THERE + 100] ^= 1;
	CHECK_FAILS(open_version(&serve, &target, &generation, &err), -EBADMSG, "index of version 'v2'");
	memory.bytes[super.catalogue_address + 100] ^= 1;
	CHECK_FAILS(open_version(&serve, &target, &generation, &err), -EBADMSG, "catalogue: its SHA-256");
}

static void test_visit_while_the_volume_cannot_be_read(void **state)
{
	struct generation *generation;

	publish("v2", 2, THERE);
	assert_int_equal(open_visit(&serve, "v2", &visitor, &generation, NULL), 0);
	fail_at = super.catalogue_address;
	CHECK_FAILS(open_visit(&serve, "v9", &visitor, &generation, &err), -EIO, "injected");
	CHECK_FAILS(open_visit(&serve, "v2", &visitor, &generation, &err), 1, "injected");
	assert_int_equal(generation->sequence, 2);
	fail_at = slot_of(2);
	CHECK_FAILS(open_visit(&serve, "v2", &visitor, &generation, &err), 1, "is the newest that can be read");
	assert_int_equal(generation->sequence, 2);
	fail_at = 0;
	CHECK_FAILS(open_visit(&serve, "v1", &visitor, &generation, &err), -ENOENT, "no version 'v1'");
	memory.bytes[THERE + 100] ^= 1;
	assert_int_equal(open_visit(&serve, "v2", &visitor, &generation, NULL), 0);
	publish("v2", 3, HERE);
	memory.bytes[HERE + 100] ^= 1;
	CHECK_FAILS(open_visit(&serve, "v2", &visitor, &generation, &err), -EBADMSG, "index of version 'v2'");
	super.volume_uuid[0]++;
	publish("v2", 4, HERE);
	CHECK_FAILS(open_visit(&serve, "v2", &visitor, &generation, &err), -ESTALE, "the volume was reformatted");
}

static void test_what_may_be_held(void **state)
{
	struct generation *v1 = serve_current(&serve), *v2, *later;

	publish("v2", 2, THERE);
	assert_int_equal(open_visit(&serve, "v2", &visitor, &v2, NULL), 0);
	assert_int_equal(atomic_load(&v2->lookups), 1); /* the visitor's */
	assert_true(generations_hold(v2));
	assert_int_equal(atomic_load(&v2->lookups), 2);
	assert_true(generations_hold(v1));
	assert_int_equal(atomic_load(&v1->lookups), 1);
	publish("v2", 3, HERE);
	assert_int_equal(open_visit(&serve, "v2", &visitor, &later, NULL), 0);
	assert_ptr_equal(generations_by_label(&serve.generations, "v2"), later);
	assert_int_equal(later->sequence, 3);
	assert_null(generations_by_label(&serve.generations, "v3"));
}

/* Another thread opens v2 while this one loads it. */
static void visit_v2(void)
{
	struct generation *generation;

	assert_int_equal(open_visit(&serve, "v2", &visitor, &generation, NULL), 0);
}

static void test_opened_twice_at_once(void **state)
{
	struct open_target target = { .label = "v2" };
	struct generation *mine, *again;

	publish("v2", 2, THERE);
	hook = visit_v2;
	hook_at = THERE;
	CHECK_OK(open_version(&serve, &target, &mine, &err));
	assert_null(hook);
	assert_int_equal(atomic_load(&mine->lookups), 1);
	assert_int_equal(open_visit(&serve, "v2", &visitor, &again, NULL), 0);
	assert_ptr_equal(again, mine);
	assert_int_equal(atomic_load(&mine->lookups), 2);
	generations_remove(&serve.generations, mine); /* not while somebody knows it */
	assert_ptr_equal(generations_find(&serve.generations, 2), mine);
	generations_unpin(&serve.generations, mine, true); /* both visitors got the name */
	generations_unpin(&serve.generations, mine, true);
	generations_forget(&serve.generations, mine, 2);
	generations_remove(&serve.generations, mine);
	assert_null(generations_find(&serve.generations, 2));
}

/* Memory that a thread is about to take for a version is not there for another thread that loads one. */
static void no_room_meanwhile(void)
{
	struct generation *generation;
	uint64_t bytes = atomic_load(&serve.loading);

	assert_true(bytes > 0);
	atomic_store(&serve.loading, UINT64_C(1) << 60);
	CHECK_FAILS(open_visit(&serve, "v2", &visitor, &generation, &err), -ENOMEM,
		    "not enough memory for its index");
	assert_int_equal(atomic_load(&serve.loading), UINT64_C(1) << 60);
	atomic_store(&serve.loading, bytes);
}

static void test_two_loads_at_once(void **state)
{
	struct open_target target = { .label = "v2" };
	struct generation *generation;

	publish("v2", 2, THERE);
	hook = no_room_meanwhile;
	hook_at = THERE;
	CHECK_OK(open_version(&serve, &target, &generation, &err));
	assert_null(hook);
	assert_int_equal(atomic_load(&serve.loading), 0);
}

/* A newer state that another thread saw while this one read an older superblock is no reason to refuse that. */
static void see_v3(void)
{
	struct superblock newest;
	struct catalogue catalogue = { 0 };

	publish("v2", 3, THERE);
	CHECK_OK(mounted_read(&serve, &newest, &catalogue, &err));
	assert_int_equal(newest.sequence, 3);
	catalogue_free(&catalogue);
}

static void test_newer_state_meanwhile(void **state)
{
	struct catalogue catalogue = { 0 };
	struct superblock found;

	publish("v2", 2, HERE);
	hook = see_v3;
	hook_at = super.catalogue_address;
	CHECK_OK(mounted_read(&serve, &found, &catalogue, &err));
	assert_null(hook);
	assert_int_equal(found.sequence, 2);
	assert_int_equal(atomic_load(&serve.volume.newest), 3);
	catalogue_free(&catalogue);
}

/* Back to the state before the last publish(): by a device that forgot what it had said. */
static void undo(void)
{
	memset(memory.bytes + slot_of(super.sequence), 0, DSFS_BLOCK);
	super.sequence--;
}

static void test_undone_version_is_no_other(void **state)
{
	struct open_target v2 = { .label = "v2" }, v3 = { .label = "v3" };
	struct generation *generation;
	uint64_t key;

	publish("v2", 2, THERE);
	CHECK_OK(open_version(&serve, &v2, &generation, &err));
	serve.generations.prepared = generation;
	key = generation->key;
	undo();
	publish("v3", 2, THERE);
	CHECK_OK(open_version(&serve, &v3, &generation, &err));
	assert_string_equal(generation->opened.version.label, "v3");
	assert_int_equal(generation->opened.version.uuid[0], '3');
	assert_int_not_equal(generation->key, key);
	assert_ptr_equal(generations_find(&serve.generations, 2), generation);
	assert_null(generations_by_label(&serve.generations, "v2"));
	assert_null(serve.generations.prepared);
}

/* Its node numbers are the other's. */
static void test_undone_version_in_use(void **state)
{
	struct generation *generation, *undone;
	struct open_target v2 = { .label = "v2" }, v3 = { .label = "v3" };

	publish("v2", 2, THERE);
	CHECK_OK(open_version(&serve, &v2, &undone, &err));
	undo();
	publish("v3", 2, HERE);
	atomic_store(&undone->lookups, 1);
	CHECK_FAILS(open_visit(&serve, "v3", &visitor, &generation, &err), -ESTALE, "has the sequence of 'v2'");
	assert_int_equal(atomic_load(&undone->lookups), 1);
	CHECK_FAILS(open_version(&serve, &v3, &generation, &err), -ESTALE, "has the sequence of 'v2'");
	atomic_store(&undone->lookups, 0);
	atomic_store(&serve.generations.current, undone);
	CHECK_FAILS(open_version(&serve, &v3, &generation, &err), -ESTALE, "has the sequence of 'v2'");
	assert_ptr_equal(generations_find(&serve.generations, 2), undone);
}

int main(void)
{
#define OPENING_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		OPENING_TEST(test_no_older_state), OPENING_TEST(test_formatted),
		OPENING_TEST(test_moved_while_it_is_loaded), OPENING_TEST(test_damage_is_no_reason_to_go_on),
		OPENING_TEST(test_visit_while_the_volume_cannot_be_read), OPENING_TEST(test_what_may_be_held),
		OPENING_TEST(test_opened_twice_at_once), OPENING_TEST(test_two_loads_at_once),
		OPENING_TEST(test_newer_state_meanwhile), OPENING_TEST(test_undone_version_is_no_other),
		OPENING_TEST(test_undone_version_in_use)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
