/* SPDX-License-Identifier: MIT */
/* An adopted version is closed when the kernel knows no node of it, which it is asked for one by one. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "fuse/known.h"
#include "image/catalogue/index_load.h"
#include "lib/check.h"
#include "lib/section.h"
#include "serve/control/search.h"

#define SEQUENCE 7
#define FD       123

/* The kernel's part. */
static uint64_t known[4]; /* nodes */
static uint64_t asked[64];
static unsigned asked_count;
static int fails_with;
static void (*meanwhile)(void); /* called at the first question */

int __wrap_known_node(int fd, uint64_t nodeid);

int __wrap_known_node(int fd, uint64_t nodeid)
{
	void (*call)(void) = meanwhile;

	assert_int_equal(fd, FD);
	meanwhile = NULL;
	if (call)
		call();
	asked[asked_count++] = nodeid;
	for (unsigned i = 0; i < 4; i++)
		if (known[i] == nodeid)
			return 1;
	return fails_with;
}

static struct section section;
static struct serve serve;
static struct generation *generation;
static struct generations_section worker;
static _Atomic bool cancelled;

/* Ordinals: the root 1, a directory 2, a file 3, a directory 4. */
static int setup(void **state)
{
	struct version version;
	int fd;

	section_init(&section);
	section_directory(&section, INODE_ROOT, "a");
	section_file(&section, INODE_ROOT, "b", 0, 0);
	section_directory(&section, INODE_ROOT, "c");
	fd = section_write(&section, &version);
	generation = calloc(1, sizeof(*generation));
	assert_non_null(generation);
	generation->record = -1;
	CHECK_OK(index_load_fd(fd, &version, 1 << 24, NULL, &generation->opened.index, &err));
	generation->sequence = SEQUENCE;
	atomic_store(&generation->uses, 1);
	atomic_store(&generation->lookups, GENERATION_UNKNOWN | 5);
	serve = (struct serve){ .mount_fd = FD };
	pthread_mutex_init(&serve.generations.lock, NULL);
	worker = (struct generations_section){ 0 };
	generations_register(&serve.generations, &worker);
	atomic_store(&serve.generations.slots[SEQUENCE], generation);
	memset(known, 0, sizeof(known));
	asked_count = 0;
	fails_with = 0;
	meanwhile = NULL;
	cancelled = false;
	return 0;
}

static int teardown(void **state)
{
	generation_put(atomic_load(&serve.generations.slots[SEQUENCE]));
	return 0;
}

static bool is_closed(void)
{
	search_version(&serve, generation, &cancelled);
	generations_reap(&serve.generations);
	return !atomic_load(&serve.generations.slots[SEQUENCE]);
}

static uint64_t node(uint64_t ordinal)
{
	return (uint64_t)SEQUENCE << DSFS_ORDINAL_BITS | ordinal;
}

/* Directories have two, the root only the one that is not the mount's. */
static void test_all_nodes(void **state)
{
	const uint64_t all[] = { NODE_SIDE | node(1), node(2), NODE_SIDE | node(2), node(3), node(4),
				 NODE_SIDE | node(4) };

	assert_true(is_closed());
	assert_int_equal(asked_count, 6);
	assert_memory_equal(asked, all, sizeof(all));
}

static void test_known_first(void **state)
{
	known[0] = NODE_SIDE | node(4);
	assert_false(is_closed());
	assert_int_equal(asked_count, 6);
	assert_false(is_closed());
	assert_int_equal(asked_count, 8); /* both of the directory's, and no more */
	assert_int_equal(asked[6], node(4));
	known[0] = node(2);
	assert_false(is_closed());
	known[0] = 0;
	assert_true(is_closed());
}

static void test_known_to_the_mount_only(void **state)
{
	known[0] = NODE_ROOT;
	assert_true(is_closed());
}

static void test_kernel_does_not_say(void **state)
{
	fails_with = -ENOTCONN;
	assert_false(is_closed());
	assert_int_equal(asked_count, 1);
	fails_with = 0;
	assert_true(is_closed());
}

static void look_up(void)
{
	assert_true(generations_hold(generation));
}

static void test_looked_up_meanwhile(void **state)
{
	meanwhile = look_up;
	assert_false(is_closed());
	assert_true(is_closed());
}

static void pin(void)
{
	assert_true(generations_pin(generation));
}

static void unpin(void)
{
	generations_unpin(&serve.generations, generation, false);
}

static void pin_and_unpin(void)
{
	pin();
	unpin();
}

static void test_pinned(void **state)
{
	pin();
	assert_false(is_closed());
	assert_int_equal(asked_count, 0);
	unpin();
	meanwhile = pin;
	assert_false(is_closed());
	unpin();
	meanwhile = pin_and_unpin; /* a name may have gone out */
	assert_false(is_closed());
	assert_true(is_closed());
}

static void cancel(void)
{
	cancelled = true;
}

static void test_cancelled(void **state)
{
	meanwhile = cancel;
	assert_false(is_closed());
	assert_int_equal(asked_count, 1);
	cancelled = false;
	assert_true(is_closed());
}

static void *leave_later(void *argument)
{
	usleep(20000);
	known[0] = node(3); /* by the reply */
	generations_leave(argument);
	return NULL;
}

/* A reply that was counted before the search, but not sent yet. */
static void test_reply_under_way(void **state)
{
	pthread_t thread;

	generations_enter(&worker);
	pthread_create(&thread, NULL, leave_later, &worker);
	assert_false(is_closed());
	pthread_join(thread, NULL);
	assert_int_equal(asked_count, 4);
	generations_enter(&worker); /* for as long as a device takes */
	cancelled = true;
	assert_false(is_closed());
	assert_int_equal(asked_count, 4);
	generations_leave(&worker);
}

int main(void)
{
#define SEARCH_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		SEARCH_TEST(test_all_nodes), SEARCH_TEST(test_known_first), SEARCH_TEST(test_known_to_the_mount_only),
		SEARCH_TEST(test_kernel_does_not_say), SEARCH_TEST(test_looked_up_meanwhile), SEARCH_TEST(test_pinned),
		SEARCH_TEST(test_cancelled), SEARCH_TEST(test_reply_under_way)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
