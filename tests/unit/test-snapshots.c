/* SPDX-License-Identifier: MIT */
/* Snapshots of the files of .datasetfs: their numbers, their limits, and those that an earlier server made. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/check.h"
#include "serve/dotdir/snapshots.h"
#include "serve/dotdir/texts.h"
#include "serve/recovery/recovery.h"
#include "serve/session/renew.h"
#include "serve/version/nodeid.h"

#define FD    123
#define USER  1000u
#define OTHER 1001u

static struct recovery *record;
static _Atomic uint64_t *made, *marks; /* in the record */
static struct serve serve = { .mount_fd = FD };
static uint64_t files[RECOVERY_SNAPSHOTS];
static struct snapshots *snapshots;

/* The kernel's part. */
static uint64_t known[4], invalidated[4];
static unsigned asked, invalidated_count;
static int texts;
static int fails_with;

int __wrap_known_node(int fd, uint64_t nodeid);
int __wrap_invalidate_inode(int fd, uint64_t nodeid, struct error *err);

int __wrap_known_node(int fd, uint64_t nodeid)
{
	assert_int_equal(fd, FD);
	asked++;
	for (unsigned i = 0; i < 4; i++)
		if (known[i] == nodeid)
			return 1;
	return fails_with;
}

int __wrap_invalidate_inode(int fd, uint64_t nodeid, struct error *err)
{
	assert_int_equal(fd, FD);
	assert_true(invalidated_count < 4);
	invalidated[invalidated_count++] = nodeid;
	return 0;
}

/* A server begins. */
static void begin(void)
{
	const struct snapshots_setup setup = { .made = made, .nodes = marks, .texts = texts < 0 ? -1 : dup(texts) };

	CHECK_OK(snapshots_new(&setup, &snapshots, &err));
	serve.snapshots = snapshots;
}

static int setup(void **state)
{
	CHECK_OK(recovery_new(&record, NULL, &err));
	made = &record->snapshots_made;
	marks = record->snapshots;
	serve.recovery = record;
	memset(known, 0, sizeof(known));
	asked = invalidated_count = 0;
	texts = -1;
	begin();
	return 0;
}

static int teardown(void **state)
{
	snapshots_free(snapshots);
	recovery_close(record);
	return 0;
}

/* Another server begins, with an empty table if there are no texts. */
static void take_over(void)
{
	snapshots_free(snapshots);
	renew_begin(&serve, files);
	begin();
}

static int keep_by(uint32_t uid, bool may_switch, enum snapshots_file file, const char *text, uint64_t *ret)
{
	struct fuse_entry_out entry;
	char *copy = strdup(text);
	int r = snapshots_keep(snapshots, file, uid, may_switch, copy, strlen(text), &entry);

	if (r < 0) {
		free(copy);
		return r;
	}
	assert_int_equal(entry.entry_valid, 0);
	assert_int_equal(entry.attr.ino, entry.nodeid);
	assert_int_equal(entry.attr.size, strlen(text));
	*ret = entry.nodeid;
	return 0;
}

static uint64_t keep(enum snapshots_file file, const char *text)
{
	uint64_t nodeid = 0;

	assert_int_equal(keep_by(USER, false, file, text, &nodeid), 0);
	return nodeid;
}

static struct snapshot *adopt(uint64_t nodeid, uint32_t uid, const char *text, bool expected)
{
	bool kept;
	struct snapshot *snapshot = snapshots_adopt(snapshots, nodeid, uid, strdup(text), strlen(text), &kept);

	assert_non_null(snapshot);
	assert_int_equal(kept, expected);
	return snapshot;
}

/* Checks the text of a snapshot, and gives it back. */
static void check_text(struct snapshot *snapshot, const char *text)
{
	char buffer[64];

	assert_non_null(snapshot);
	assert_int_equal(snapshots_length(snapshot), strlen(text));
	assert_int_equal(snapshots_read(snapshot, 0, buffer, sizeof(buffer)), strlen(text));
	assert_memory_equal(buffer, text, strlen(text));
	snapshots_put(snapshot);
}

static void each_lookup_has_a_text_of_its_own(void **state)
{
	uint64_t one = keep(SNAPSHOTS_STATS, "one"), two = keep(SNAPSHOTS_STATS, "two");
	struct snapshot *held;

	assert_int_not_equal(one, two);
	check_text(snapshots_get(snapshots, one), "one");
	check_text(snapshots_get(snapshots, two), "two");
	held = snapshots_get(snapshots, one);
	snapshots_forget(snapshots, one, 1);
	assert_null(snapshots_get(snapshots, one));
	check_text(held, "one"); /* a reply is being made from it */
	assert_int_not_equal(keep(SNAPSHOTS_STATS, "three"), one);
}

/* But those that are too long, and those that the kernel does not know. */
static void a_successor_inherits_texts(void **state)
{
	uint64_t one, two, large, gone;
	struct fuse_attr before, after;
	struct snapshot *snapshot;
	char text[300001] = "";

	CHECK_OK(texts_make(SNAPSHOTS_MAX, &texts, &err));
	take_over();
	one = keep(SNAPSHOTS_STATS, "one");
	two = keep(SNAPSHOTS_DAMAGE, "");
	memset(text, 'x', sizeof(text) - 1);
	large = keep(SNAPSHOTS_METRICS, text);
	gone = keep(SNAPSHOTS_STATS, "gone");
	snapshots_forget(snapshots, keep(SNAPSHOTS_STATS, "forgotten"), 1);
	snapshot = snapshots_get(snapshots, one);
	snapshots_attr(snapshot, &before);
	snapshots_put(snapshot);
	take_over();
	check_text(snapshots_get(snapshots, two), "");
	assert_null(snapshots_get(snapshots, large));
	memcpy(known, (uint64_t[]){ one, two, large }, sizeof(uint64_t[3]));
	renew_files(&serve, files);
	assert_int_equal(invalidated_count, 1);
	assert_int_equal(invalidated[0], large);
	assert_null(snapshots_get(snapshots, gone));
	snapshot = snapshots_get(snapshots, one);
	snapshots_attr(snapshot, &after);
	assert_memory_equal(&after, &before, sizeof(after));
	check_text(snapshot, "one");
	snapshots_forget(snapshots, one, 1);
	assert_int_equal(marks[one % SNAPSHOTS_MAX], 0);
	take_over();
	assert_null(snapshots_get(snapshots, one));
	check_text(snapshots_get(snapshots, two), "");
	close(texts);
}

/* A head that a server left wrongly. */
static void a_wrong_text_is_not_inherited(void **state)
{
	const uint64_t heads[][4] = { { 1024, 262144, 0, 0 }, { 1024, UINT64_MAX, 0, 0 }, { 1025, 3, 0, 0 },
				      { 1024, 3, 0, 1000000000 } };
	uint64_t nodeid;

	CHECK_OK(texts_make(SNAPSHOTS_MAX, &texts, &err));
	take_over();
	nodeid = keep(SNAPSHOTS_CATALOGUE, "one");
	assert_int_equal(nodeid, 1024);
	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		assert_int_equal(pwrite(texts, heads[i], sizeof(heads[i]), 0), sizeof(heads[i]));
		take_over();
		assert_null(snapshots_get(snapshots, nodeid));
	}
	close(texts);
}

static void reads_end_with_the_text(void **state)
{
	struct snapshot *snapshot = snapshots_get(snapshots, keep(SNAPSHOTS_STATS, "0123456789"));
	char buffer[4] = "....";

	assert_int_equal(snapshots_read(snapshot, 8, buffer, 4), 2);
	assert_memory_equal(buffer, "89..", 4);
	assert_int_equal(snapshots_read(snapshot, 2, buffer, 3), 3);
	assert_memory_equal(buffer, "234.", 4);
	assert_int_equal(snapshots_read(snapshot, 10, buffer, 4), 0);
	assert_int_equal(snapshots_read(snapshot, UINT64_MAX, buffer, 4), 0);
	snapshots_put(snapshot);
}

static void a_number_tells_the_file(void **state)
{
	for (enum snapshots_file file = 0; file < SNAPSHOTS_FILES; file++)
		if (file != SNAPSHOTS_CLIENT)
			assert_int_equal(snapshots_file(keep(file, "text")), file);
	assert_int_equal(snapshots_file(NODE_CLIENT), SNAPSHOTS_CLIENT);
	assert_int_equal(snapshots_file(NODE_DOTDIR), SNAPSHOTS_FILES);
	assert_int_equal(snapshots_file(NODE_CONTROL), SNAPSHOTS_FILES);
	assert_int_equal(snapshots_file(NODE_SNAPSHOT - 1), SNAPSHOTS_FILES);
	assert_int_equal(snapshots_file(NODE_SNAPSHOT + 3 * 1024), SNAPSHOTS_FILES); /* the client's */
	assert_int_equal(snapshots_file(NODE_SNAPSHOT + 6 * 1024), SNAPSHOTS_FILES); /* of a later release */
}

/* The kernel shows numbers of earlier releases to later ones. */
static void numbers_stay_what_they_are(void **state)
{
	assert_int_equal(keep(SNAPSHOTS_CATALOGUE, ""), 1024);
	assert_int_equal(keep(SNAPSHOTS_STATS, ""), 1024 + (1 * 8 + 1) * 1024 + 1);
	assert_int_equal(keep(SNAPSHOTS_VERSION, ""), 1024 + (2 * 8 + 2) * 1024 + 2);
	assert_int_equal(keep(SNAPSHOTS_DAMAGE, ""), 1024 + (3 * 8 + 4) * 1024 + 3);
	assert_int_equal(keep(SNAPSHOTS_METRICS, ""), 1024 + (4 * 8 + 5) * 1024 + 4);
	atomic_store(made, UINT64_MAX);
	assert_int_equal(keep(SNAPSHOTS_METRICS, "another"), 1024 + (((UINT64_C(1) << 26) - 1) * 8 + 5) * 1024 + 5);
	assert_int_equal(keep(SNAPSHOTS_METRICS, "again"), 1024 + 5 * 1024 + 6);
}

static void a_successor_begins_no_number_again(void **state)
{
	uint64_t before[8], nodeid;

	for (size_t i = 0; i < 8; i++)
		before[i] = keep(SNAPSHOTS_STATS, "then");
	take_over();
	for (size_t i = 0; i < 8; i++) {
		nodeid = keep(SNAPSHOTS_STATS, "now");
		for (size_t k = 0; k < 8; k++)
			assert_int_not_equal(nodeid, before[k]);
		assert_null(snapshots_get(snapshots, before[i]));
	}
}

static void what_is_made_anew_goes_with_its_forget(void **state)
{
	uint64_t nodeid = keep(SNAPSHOTS_STATS, "then");

	take_over();
	check_text(adopt(nodeid, USER, "now", true), "now");
	check_text(adopt(nodeid, USER, "later", false), "now"); /* another request was first */
	check_text(snapshots_get(snapshots, nodeid), "now");
	snapshots_forget(snapshots, nodeid, 1);
	assert_null(snapshots_get(snapshots, nodeid));
}

static void a_slot_that_is_taken_stays(void **state)
{
	uint64_t before = keep(SNAPSHOTS_STATS, "then"), now;

	take_over();
	now = keep(SNAPSHOTS_METRICS, "metrics");
	assert_int_not_equal(now % SNAPSHOTS_MAX, before % SNAPSHOTS_MAX); /* as long as there are others */
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		atomic_store(&marks[i], NODE_SNAPSHOT + i);
	now = keep(SNAPSHOTS_METRICS, "others");
	assert_int_equal(now % SNAPSHOTS_MAX, before % SNAPSHOTS_MAX);
	check_text(adopt(before, USER, "now", false), "now");
	assert_null(snapshots_get(snapshots, before));
	snapshots_forget(snapshots, before, 1);
	check_text(snapshots_get(snapshots, now), "others");
}

static void the_kernel_asks_again_for_what_it_knows(void **state)
{
	uint64_t one = keep(SNAPSHOTS_STATS, "one"), two = keep(SNAPSHOTS_VERSION, "two"), gone, late;

	gone = keep(SNAPSHOTS_STATS, "its FORGET dies with the server");
	snapshots_forget(snapshots, keep(SNAPSHOTS_STATS, "forgotten"), 1);
	take_over();
	late = keep(SNAPSHOTS_STATS, "on its way to the kernel");
	known[0] = one;
	known[1] = two;
	renew_files(&serve, files);
	assert_int_equal(asked, 3);
	assert_int_equal(invalidated_count, 2);
	assert_int_equal(invalidated[0], one);
	assert_int_equal(invalidated[1], two);
	assert_int_equal(atomic_load(&marks[gone % SNAPSHOTS_MAX]), 0);
	assert_int_equal(atomic_load(&marks[late % SNAPSHOTS_MAX]), late);
	/* FORGETs of what this server never had count, and of what it made anew. */
	snapshots_forget(snapshots, one, 1);
	check_text(adopt(two, USER, "now", true), "now");
	assert_int_equal(atomic_load(&marks[two % SNAPSHOTS_MAX]), two);
	snapshots_forget(snapshots, two, 1);
	snapshots_forget(snapshots, late, 1);
	for (size_t i = 0; i < SNAPSHOTS_MAX; i++)
		assert_int_equal(atomic_load(&marks[i]), 0);
}

static void a_kernel_that_does_not_answer(void **state)
{
	uint64_t one = keep(SNAPSHOTS_STATS, "one");

	take_over();
	fails_with = -ENODEV;
	renew_files(&serve, files);
	assert_int_equal(asked, 1);
	assert_int_equal(atomic_load(&marks[one % SNAPSHOTS_MAX]), one);
	fails_with = 0;
}

static char last_text[16];

static const char *another_text(void)
{
	static unsigned number;

	snprintf(last_text, sizeof(last_text), "text %u", number++);
	return last_text;
}

static void limits_of_users(void **state)
{
	uint64_t nodes[SNAPSHOTS_OF_USER], ignored, before;

	for (unsigned i = 0; i < SNAPSHOTS_OF_USER; i++)
		nodes[i] = keep(SNAPSHOTS_STATS, another_text());
	assert_int_equal(keep_by(USER, false, SNAPSHOTS_STATS, "text", &ignored), -EDQUOT);
	assert_int_equal(keep_by(USER, true, SNAPSHOTS_STATS, "text", &ignored), 0);
	snapshots_forget(snapshots, ignored, 1);
	snapshots_forget(snapshots, nodes[0], 1);
	before = nodes[0];
	/* Now there is room for one that an earlier server made, and then for no more. */
	check_text(adopt(before, USER, "now", true), "now");
	check_text(adopt(before + SNAPSHOTS_OF_USER, USER, "now", false), "now");
	check_text(adopt(before + SNAPSHOTS_OF_USER, OTHER, "now", true), "now");
	for (unsigned i = SNAPSHOTS_OF_USER + 1; i < SNAPSHOTS_OF_USERS; i++)
		assert_int_equal(keep_by(OTHER + i, false, SNAPSHOTS_STATS, another_text(), &ignored), 0);
	assert_int_equal(keep_by(OTHER, false, SNAPSHOTS_STATS, "text", &ignored), -ENFILE);
	for (unsigned i = SNAPSHOTS_OF_USERS; i < 1024; i++)
		assert_int_equal(keep_by(USER, true, SNAPSHOTS_STATS, another_text(), &ignored), 0);
	assert_int_equal(keep_by(USER, true, SNAPSHOTS_STATS, "text", &ignored), -ENFILE);
	/* A text that somebody has already is there for all. */
	assert_int_equal(keep_by(OTHER, false, SNAPSHOTS_STATS, last_text, &ignored), 0);
}

static void one_for_the_same_text(void **state)
{
	uint64_t first = keep(SNAPSHOTS_VERSION, "text"), second;

	assert_int_equal(keep_by(OTHER, false, SNAPSHOTS_VERSION, "text", &second), 0);
	assert_int_equal(second, first);
	assert_int_not_equal(keep(SNAPSHOTS_VERSION, "texts"), first);
	assert_int_not_equal(keep(SNAPSHOTS_DAMAGE, "text"), first);
	snapshots_forget(snapshots, first, 1);
	check_text(snapshots_get(snapshots, first), "text"); /* the other lookup */
	snapshots_forget(snapshots, first, 1);
	assert_null(snapshots_get(snapshots, first));
}

static void the_client_has_one_for_ever(void **state)
{
	struct fuse_entry_out entry;

	assert_null(snapshots_get(snapshots, NODE_CLIENT));
	check_text(adopt(NODE_CLIENT, USER, "socket", true), "socket"); /* looked up at an earlier server */
	assert_int_equal(snapshots_keep_client(snapshots, strdup("another"), 7, &entry), 0);
	assert_int_equal(entry.nodeid, NODE_CLIENT);
	assert_int_not_equal(entry.entry_valid, 0);
	assert_int_equal(entry.attr.size, 6);
	snapshots_forget(snapshots, NODE_CLIENT, 100); /* lookups that the earlier server counted */
	check_text(snapshots_get(snapshots, NODE_CLIENT), "socket");
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

CHECK_MAIN(CASE(each_lookup_has_a_text_of_its_own), CASE(a_successor_inherits_texts),
	   CASE(a_wrong_text_is_not_inherited), CASE(reads_end_with_the_text), CASE(a_number_tells_the_file),
	   CASE(numbers_stay_what_they_are), CASE(a_successor_begins_no_number_again),
	   CASE(what_is_made_anew_goes_with_its_forget), CASE(a_slot_that_is_taken_stays),
	   CASE(the_kernel_asks_again_for_what_it_knows), CASE(a_kernel_that_does_not_answer), CASE(limits_of_users),
	   CASE(one_for_the_same_text), CASE(the_client_has_one_for_ever))
