/* SPDX-License-Identifier: MIT */
/* Slots and what is under way in them, over an engine that ends reads when the test says: in any order, with failures,
 * in a wait, or long after they were left. */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "image/catalogue/index_load.h"
#include "image/members/address.h"
#include "image/sums/checksum.h"
#include "lib/check.h"
#include "read/queue.h"

#define MEMBERS 2u /* that hold the same */
#define CHUNK   8192u
#define CHUNKS  8u
#define DEVICE  (DSFS_DATA_AT + CHUNKS * CHUNK)
#define DEPTH   3u

static uint8_t device[DEVICE];

/* --- the engine --- */

static struct fake {
	struct engine engine;
	struct io_read *begun[16];
	unsigned count;
	unsigned in_a_wait; /* reads that end in each wait that may block, the oldest first */
	unsigned waits, blocked;
	int failure; /* of the next wait; 0: none */
} fake;

/* result 0: with the device's bytes. */
static void complete(unsigned which, int result)
{
	struct io_read *read = fake.begun[which];
	uint64_t at = read->offset;

	assert_true(which < fake.count);
	memmove(&fake.begun[which], &fake.begun[which + 1], (--fake.count - which) * sizeof(fake.begun[0]));
	for (int i = 0; i < read->iov_count && !result; at += read->iov[i++].iov_len)
		memcpy(read->iov[i].iov_base, device + at, read->iov[i].iov_len);
	read->done(read, result ? result : (int)(at - read->offset));
}

static void fake_read(struct engine *engine, struct io_read *read)
{
	assert_true(fake.count < sizeof(fake.begun) / sizeof(fake.begun[0]));
	fake.begun[fake.count++] = read;
}

static int fake_wait(struct engine *engine, bool block, bool *ret_readable, struct error *err)
{
	fake.waits++;
	fake.blocked += block;
	*ret_readable = false;
	if (fake.failure)
		return error_set(err, fake.failure, "the wait failed");
	for (unsigned i = 0; block && i < fake.in_a_wait && fake.count; i++)
		complete(0, 0);
	return 0;
}

static void fake_free(struct engine *engine)
{
	assert_ptr_equal(engine, &fake.engine);
	assert_int_equal(fake.count, 0);
}

static int fake_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	static const struct engine_ops ops = { .read = fake_read, .wait = fake_wait, .free = fake_free };

	fake = (struct fake){ .engine.ops = &ops };
	*ret = &fake.engine;
	return 0;
}

static int refuse_new(const struct engine_setup *setup, struct engine **ret, struct error *err)
{
	return error_set(err, -EPERM, "refused, depth=%u", setup->depth);
}

/* --- an owner --- */

struct slot {
	struct queue_slot slot; /* must be the first field */
	int64_t result;
	unsigned done, failed, let_go, stuck;
};

static struct queue queue;
static bool leaves; /* what stuck() does */
static bool flips;  /* then the members change their roles */
static struct queue_slot *other; /* the slot that took the place of one that was left */

static struct slot *slot_of(struct queue_slot *slot)
{
	return (struct slot *)slot;
}

static void on_failed(struct read_op *op, const struct chunk *chunk, const struct error *err)
{
	assert_int_not_equal(err->code, 0);
	((struct slot *)op)->failed++;
}

static void on_done(struct queue_slot *slot, int64_t result)
{
	slot_of(slot)->result = result;
	slot_of(slot)->done++;
}

static void on_let_go(struct queue_slot *slot)
{
	slot_of(slot)->let_go++;
}

/* Makes the member suspect that the read is with. */
static void fall_silent(unsigned which)
{
	struct route_member *member = &queue.reader.setup.route->members[fake.begun[which]->member];

	atomic_store(&member->progress, clock_now() - INT64_C(10000000000));
}

/* Whatever time passes, the member is not suspect until its next read ends. */
static void recover(unsigned which)
{
	struct route_member *member = &queue.reader.setup.route->members[fake.begun[which]->member];

	atomic_store(&member->progress, clock_now() + INT64_C(3600000000000));
}

static void on_stuck(struct queue_slot *slot)
{
	slot_of(slot)->stuck++;
	if (!leaves || !queue_may_leave(slot->queue, 1))
		return;
	queue_leave(slot);
	other = queue_take(slot->queue);
	assert_non_null(other);
	other->op.request = slot->op.request;
	other->op.request.wanted = NULL;
	other->op.request.payload = queue_payload(other);
	queue_read(other);
	if (flips) {
		fall_silent(fake.count - 1);
		recover(0);
	}
}

/* --- a volume --- */

static struct member list[MEMBERS];
static struct member_group group = { .birth = 1, .tail = DEVICE, .kind = DSFS_GROUP_COPIES, .data = 1, .redundant = 1 };
static uint64_t columns[MEMBERS];
static struct member_column places[MEMBERS];
static struct index volume_index;
static struct file_geometry geometry[MEMBERS];
static struct chunk chunks[CHUNKS];
static struct reader_counters counters;

static int make_volume(void **state)
{
	for (size_t i = 0; i < DEVICE; i++)
		device[i] = (uint8_t)(i * 2654435761u >> 13);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		columns[i] = address_make(i, 0);
		places[i] = (struct member_column){ columns[i], 0, i };
		geometry[i] = (struct file_geometry){ .is_direct = true, .logical_block = 512, .size = DEVICE };
	}
	volume_index.members = (struct members){ .segment_log = 30, .list = list, .count = MEMBERS, .groups = &group,
						 .group_count = 1, .columns = columns, .column_count = MEMBERS,
						 .places = places };
	for (uint32_t i = 0; i < CHUNKS; i++)
		chunks[i] = (struct chunk){ .address = DSFS_DATA_AT + i * CHUNK, .stored = CHUNK, .length = CHUNK,
					    .codec = DSFS_CODEC_RAW, .number = i,
					    .sum = sum_of(DSFS_SUM_XXH3_64, device + DSFS_DATA_AT + i * CHUNK, CHUNK) };
	return 0;
}

static void open_queue(unsigned spare, bool is_huge)
{
	static const struct reader_options options = { .verify = true };
	static const struct reader_events events = { .failed = on_failed };
	static const struct queue_client client = { .slot_size = sizeof(struct slot), .events = &events,
						    .done = on_done, .let_go = on_let_go, .stuck = on_stuck };
	struct queue_setup setup = { .client = &client,
				     .reader = { .options = &options, .geometry = geometry, .counters = &counters },
				     .depth = DEPTH, .spare = spare, .has_payloads = true, .is_huge = is_huge,
				     .is_unshared = !is_huge };
	const struct engine_setup engine = { .poll_fd = -1, .wake = -1 };

	CHECK_OK(route_new(MEMBERS, &setup.reader.route, &err));
	CHECK_OK(queue_open(&queue, &setup, &err));
	CHECK_OK(queue_start(&queue, &engine, fake_new, NULL, &err));
	leaves = true;
	flips = false;
	other = NULL;
}

static void close_queue(void)
{
	struct route *route = queue.reader.setup.route;

	assert_int_equal(queue.reading, 0);
	assert_int_equal(queue.left, 0);
	assert_int_equal(fake.engine.left, 0);
	queue_close(&queue);
	queue_close(&queue); /* once more, in vain */
	route_free(route);
}

/* Takes a slot and begins to read this chunk with it. */
static struct slot *begin(uint32_t number)
{
	struct queue_slot *slot = queue_take(&queue);

	assert_non_null(slot);
	slot_of(slot)->result = slot_of(slot)->done = slot_of(slot)->failed = slot_of(slot)->let_go = 0;
	slot->op.request = (struct read_request){ .version.index = &volume_index, .chunks = &chunks[number],
						  .chunk_count = 1, .payload = queue_payload(slot), .room = READ_MAX,
						  .keeps_payload = true };
	queue_read(slot);
	return slot_of(slot);
}

static void check_done(const struct slot *slot, uint32_t number)
{
	assert_int_equal(slot->done, 1);
	assert_int_equal(slot->result, CHUNK);
	assert_int_equal(slot->slot.state, QUEUE_IDLE);
	assert_memory_equal(queue_payload(&slot->slot), device + chunks[number].address, CHUNK);
}

/* --- tests --- */

static void check_apart(const struct queue_slot *a, const struct queue_slot *b)
{
	uint8_t *first = queue_payload(a), *second = queue_payload(b);
	size_t distance = (size_t)(first < second ? second - first : first - second);

	assert_true(distance >= READ_MAX + READ_SCRATCH);
	assert_int_equal((uintptr_t)first % DSFS_BLOCK, 0);
	assert_int_equal(queue_scratch(a) - first, READ_MAX);
	assert_int_equal((uintptr_t)queue_scratch(a) % DSFS_BLOCK, 0);
}

/* The memory of each is its own, and all of it is there. The slot that was free last is taken first. */
static void test_slots(void **state)
{
	struct queue_slot *slots[DEPTH];

	for (unsigned round = 0; round < 2; round++) {
		open_queue(2, round);
		for (unsigned i = 0; i < DEPTH; i++) {
			assert_true(queue_has_room(&queue));
			slots[i] = queue_take(&queue);
			assert_int_equal(slots[i]->number, i);
			memset(queue_payload(slots[i]), (int)i, READ_MAX + READ_SCRATCH);
			for (unsigned k = 0; k < i; k++)
				check_apart(slots[i], slots[k]);
		}
		assert_false(queue_has_room(&queue)); /* the others are spare */
		assert_null(queue_take(&queue));
		for (unsigned i = 0; i < DEPTH; i++)
			queue_give(slots[(i + 1) % DEPTH]);
		assert_ptr_equal(queue_take(&queue), slots[0]);
		assert_ptr_equal(queue_take(&queue), slots[2]);
		close_queue();
	}
}

static void test_any_order(void **state)
{
	static const unsigned orders[][DEPTH] = { { 0, 1, 2 }, { 2, 1, 0 }, { 1, 2, 0 } };
	struct slot *slots[DEPTH];

	open_queue(0, true);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < DEPTH; i++)
			slots[i] = begin(i + round);
		assert_int_equal(queue.reading, DEPTH);
		for (unsigned i = 0; i < DEPTH; i++) {
			unsigned which = orders[round][i], before = 0;

			for (unsigned k = 0; k < i; k++)
				before += orders[round][k] < which;
			complete(which - before, 0);
			check_done(slots[which], which + round);
			assert_int_equal(queue.reading, DEPTH - 1 - i);
			assert_false(queue_has_room(&queue)); /* until the owner gives it back */
		}
		for (unsigned i = 0; i < DEPTH; i++)
			queue_give(&slots[i]->slot);
	}
	close_queue();
}

static void test_waits(void **state)
{
	struct slot *slots[DEPTH];

	open_queue(0, true);
	fake.in_a_wait = 1;
	for (unsigned i = 0; i < DEPTH; i++)
		slots[i] = begin(i);
	CHECK_OK(queue_wait(&queue, 0, &err)); /* only looks */
	assert_int_equal(fake.blocked, 0);
	CHECK_OK(queue_wait(&queue, 12345, &err));
	assert_int_equal(fake.engine.timeout, 12345);
	check_done(slots[0], 0);
	assert_int_equal(queue.reading, 2);
	CHECK_OK(queue_finish(&slots[2]->slot, &err));
	assert_int_equal(fake.engine.timeout, 0);
	check_done(slots[1], 1);
	check_done(slots[2], 2);
	assert_int_equal(fake.blocked, 3);
	CHECK_OK(queue_finish(&slots[2]->slot, &err)); /* has ended: nothing to wait for */
	assert_int_equal(fake.blocked, 3);
	for (unsigned i = 0; i < DEPTH; i++)
		queue_give(&slots[i]->slot);
	for (unsigned i = 0; i < DEPTH; i++)
		slots[i] = begin(i);
	CHECK_OK(queue_drain(&queue, &err));
	for (unsigned i = 0; i < DEPTH; i++)
		check_done(slots[i], i);
	close_queue();
}

/* A read that fails ends like others; a wait that fails ends no read. */
static void test_failures(void **state)
{
	struct slot *bad, *good;

	open_queue(0, true);
	bad = begin(0);
	good = begin(1);
	complete(0, -ENODATA);
	complete(1, -ENODATA); /* the other copy */
	assert_int_equal(bad->done, 1);
	assert_int_equal(bad->failed, 1);
	assert_int_equal(bad->result, 0); /* a list lacks the chunk */
	assert_int_equal(good->done, 0);
	fake.failure = -EPERM;
	CHECK_FAILS(queue_wait(&queue, 0, &err), -EPERM, "the wait failed");
	CHECK_FAILS(queue_finish(&good->slot, &err), -EPERM, "the wait failed");
	CHECK_FAILS(queue_drain(&queue, &err), -EPERM, "the wait failed");
	assert_int_equal(good->slot.state, QUEUE_READING);
	fake.failure = 0;
	fake.in_a_wait = 1;
	CHECK_OK(queue_finish(&good->slot, &err));
	check_done(good, 1);
	close_queue();
}

/* The late read may come before the one that took its place, or after it, with bytes or without. */
static void test_left(void **state)
{
	static const int results[] = { 0, -EIO, 512 };
	struct slot *left;

	for (unsigned i = 0; i < 6; i++) {
		open_queue(2, false);
		left = begin(3);
		queue_leave_stuck(&queue);
		assert_int_equal(left->stuck, 0);
		fall_silent(0);
		queue_leave_stuck(&queue);
		assert_int_equal(left->stuck, 1);
		assert_int_equal(left->slot.state, QUEUE_LEFT);
		assert_int_equal(queue.left, 1);
		assert_int_equal(queue.reading, 1);
		assert_int_not_equal(fake.begun[0]->member, fake.begun[1]->member);
		check_apart(&left->slot, other);
		queue_leave_stuck(&queue); /* neither again */
		assert_int_equal(left->stuck, 1);
		if (i % 2)
			complete(0, results[i / 2]);
		assert_int_equal(queue.left, !(i % 2));
		complete(fake.count - 1, 0);
		check_done(slot_of(other), 3);
		queue_give(other);
		if (i % 2 == 0)
			complete(0, results[i / 2]);
		assert_int_equal(left->let_go, 1);
		assert_int_equal(left->done, 0);
		assert_int_equal(queue.free_count, DEPTH + 2);
		close_queue();
	}
}

/* Slots that devices keep are not taken, and they may keep as many as there are spare ones. Then reads wait. */
static void test_left_is_bounded(void **state)
{
	struct slot *slots[DEPTH];

	open_queue(2, false);
	leaves = false;
	for (unsigned i = 0; i < DEPTH; i++)
		slots[i] = begin(i);
	for (unsigned i = 0; i < DEPTH; i++)
		fall_silent(i);
	/* One member is well, however long this test takes. */
	atomic_store(&queue.reader.setup.route->members[1].progress, clock_now() + INT64_C(3600000000000));
	queue_leave_stuck(&queue);
	for (unsigned i = 0; i < DEPTH; i++)
		assert_int_equal(slots[i]->stuck, fake.begun[i]->member == 0);
	assert_true(queue_may_leave(&queue, 2));
	assert_false(queue_may_leave(&queue, 3));
	queue_leave(&slots[0]->slot);
	queue_leave(&slots[1]->slot);
	assert_false(queue_may_leave(&queue, 1));
	for (unsigned i = 0; i < 2; i++) {
		slots[i] = slot_of(queue_take(&queue));
		assert_true(slots[i]->slot.number >= DEPTH);
	}
	assert_null(queue_take(&queue));
	complete(0, 0);
	assert_true(queue_may_leave(&queue, 1));
	assert_null(queue_take(&queue)); /* as many as ever are taken */
	queue_give(&slots[0]->slot);
	assert_non_null(queue_take(&queue));
	complete(0, 0);
	complete(0, 0);
	close_queue();
}

/* A read that took the place of another one has its turn at the next look, even if its member is suspect already. */
static void test_left_again(void **state)
{
	struct slot *first, *second;

	open_queue(2, false);
	flips = true;
	first = begin(5);
	fall_silent(0);
	queue_leave_stuck(&queue);
	second = slot_of(other);
	assert_int_equal(first->stuck, 1);
	assert_int_equal(second->stuck, 0);
	flips = false;
	queue_leave_stuck(&queue);
	assert_int_equal(second->stuck, 1);
	assert_int_equal(queue.left, 2);
	complete(2, 0);
	check_done(slot_of(other), 5);
	complete(1, 0);
	complete(0, 0);
	close_queue();
}

/* Nobody else has it: there is nothing to be gained. */
static void test_alone(void **state)
{
	struct slot *slot;

	open_queue(2, false);
	slot = begin(0);
	fall_silent(0);
	atomic_store(&queue.reader.setup.route->members[1 - fake.begun[0]->member].failures, ROUTE_FAILURES);
	queue_leave_stuck(&queue);
	assert_int_equal(slot->stuck, 0);
	complete(0, 0);
	check_done(slot, 0);
	close_queue();
}

/* Waits look by themselves, though not at each, and none is so long that it cannot. */
static void test_watches(void **state)
{
	struct slot *slot;

	open_queue(2, false);
	queue.watches = true;
	queue.looked = clock_now() + INT64_C(3600000000000);
	slot = begin(0);
	fall_silent(0);
	CHECK_OK(queue_wait(&queue, QUEUE_FOR_EVER, &err));
	assert_int_equal(fake.engine.timeout, ROUTE_SILENCE);
	assert_int_equal(slot->stuck, 0);
	CHECK_OK(queue_wait(&queue, 1000, &err));
	assert_int_equal(fake.engine.timeout, 1000);
	queue.looked = clock_now() - ROUTE_SILENCE;
	CHECK_OK(queue_wait(&queue, 0, &err));
	assert_int_equal(slot->stuck, 1);
	assert_int_equal(queue.left, 1);
	complete(1, 0);
	complete(0, 0);
	close_queue();
}

static void test_engines(void **state)
{
	const struct engine_setup setup = { .depth = 7 };

	open_queue(0, false);
	assert_ptr_equal(queue.reader.engine, &fake.engine);
	queue.engine = queue.reader.engine = NULL;
	CHECK_FAILS(queue_start(&queue, &setup, refuse_new, NULL, &err), -EPERM, "refused, depth=7");
	CHECK_FAILS(queue_start(&queue, &setup, refuse_new, refuse_new, &err), -EPERM, "refused");
	assert_null(queue.reader.engine);
	CHECK_OK(queue_start(&queue, &setup, refuse_new, fake_new, &err));
	assert_ptr_equal(queue.reader.engine, &fake.engine);
	close_queue();
}

/* --- reads that wait for the window --- */

static struct window *window;

/* A queue whose window lets so many reads begin. */
static void open_held(unsigned size)
{
	const struct window_setup setup = { .members = MEMBERS, .is_adaptive = true };

	open_queue(2, false);
	CHECK_OK(window_new(&setup, &window, &err));
	atomic_store(&window->is_open, false);
	atomic_store(&window->limited, INT64_MAX); /* nor does it open */
	atomic_store(&window->shares[WINDOW_DEMAND].size, (double)size);
	window_divide(window, UINT32_MAX); /* it does not grow */
	queue.reader.setup.window = window;
	counters = (struct reader_counters){ 0 };
}

static void close_held(void)
{
	assert_null(queue.reader.hold.first);
	assert_int_equal(queue.reader.hold.thread.under_way, 0);
	assert_int_equal(atomic_load(&window->shares[WINDOW_DEMAND].under_way), 0);
	assert_int_equal(atomic_load(&window->claimants), 0);
	assert_int_equal(atomic_load(&window->hungry), 0);
	close_queue();
	window_free(window);
}

static struct slot *begin_for(uint32_t user, uint32_t number)
{
	struct slot *slot = slot_of(queue_take(&queue));

	assert_non_null(slot);
	slot->result = slot->done = slot->let_go = slot->stuck = 0;
	slot->slot.op.request = (struct read_request){ .version.index = &volume_index, .chunks = &chunks[number],
						       .chunk_count = 1, .payload = queue_payload(&slot->slot),
						       .room = READ_MAX, .user = user };
	queue_read(&slot->slot);
	return slot;
}

static void test_held(void **state)
{
	struct slot *slots[DEPTH];

	open_held(1);
	for (unsigned i = 0; i < DEPTH; i++)
		slots[i] = begin(i);
	assert_int_equal(fake.count, 1);
	assert_int_equal(atomic_load(&window->claimants), 1);
	assert_int_equal(queue.reading, DEPTH);
	CHECK_OK(queue_wait(&queue, QUEUE_FOR_EVER, &err));
	assert_int_equal(fake.engine.timeout, WINDOW_LOOK);
	assert_true(fake.engine.pauses);
	for (unsigned i = 0; i < DEPTH; i++) {
		assert_int_equal(fake.count, 1);
		complete(0, 0);
		check_done(slots[i], i);
	}
	assert_int_equal(counters.held, DEPTH - 1);
	assert_int_equal(counters.device_reads, DEPTH);
	CHECK_OK(queue_wait(&queue, QUEUE_FOR_EVER, &err));
	assert_int_equal(fake.engine.timeout, 0);
	assert_false(fake.engine.pauses);
	close_held();
}

/* A user whose reads wait already does not keep another one's waiting. */
static void test_turns(void **state)
{
	struct slot *first, *second, *third, *other_user;

	open_held(1);
	first = begin_for(7, 0);
	second = begin_for(7, 1);
	third = begin_for(7, 2);
	complete(0, 0);
	check_done(first, 0);
	queue_give(&first->slot);
	other_user = begin_for(8, 3);
	complete(0, 0);
	check_done(second, 1);
	complete(0, 0);
	check_done(other_user, 3);
	assert_int_equal(third->done, 0);
	complete(0, 0);
	check_done(third, 2);
	close_held();
}

/* A read that nobody wants any more costs no read of the device. */
static void test_held_and_killed(void **state)
{
	static _Atomic uint64_t wanted = 1;
	struct slot *first, *killed, *last;

	open_held(1);
	first = begin(0);
	killed = begin(1);
	last = begin(2);
	killed->slot.op.request.wanted = &wanted;
	atomic_store(&wanted, 0);
	complete(0, 0);
	check_done(first, 0);
	assert_int_equal(killed->done, 1);
	assert_int_equal(killed->result, -ECANCELED);
	complete(0, 0);
	check_done(last, 2);
	assert_int_equal(counters.device_reads, 2);
	close_held();
}

/* Reads of a member that does not answer fill no window. */
static void test_hang_fills_no_window(void **state)
{
	struct slot *hangs, *waits;

	open_held(1);
	hangs = begin(0);
	waits = begin(1);
	fall_silent(0);
	assert_int_equal(fake.count, 1);
	CHECK_OK(queue_wait(&queue, 0, &err));
	assert_int_equal(fake.count, 2);
	complete(1, 0);
	check_done(waits, 1);
	complete(0, 0);
	check_done(hangs, 0);
	close_held();
}

/* A held read that is left never begins, and its slot comes back when its turn has come. */
static void test_held_and_left(void **state)
{
	struct slot *first, *left;

	open_held(1);
	first = begin(0);
	left = begin(1);
	queue_leave(&left->slot);
	assert_int_equal(fake.engine.left, 0);
	complete(0, 0);
	check_done(first, 0);
	assert_int_equal(left->let_go, 1);
	assert_int_equal(counters.device_reads, 1);
	close_held();
}

/* Two late reads of which one may be made again: at the other member, once. The late one may come first. */
static void test_hedges(void **state)
{
	struct slot *late, *later;

	for (unsigned wins = 0; wins < 2; wins++) {
		open_held(64);
		window_allow_hedges(window);
		late = begin_for(0, 0);
		later = begin_for(0, 1);
		CHECK_OK(queue_wait(&queue, 0, &err));
		assert_int_equal(late->stuck, 0); /* nothing is known */
		atomic_store(&window->lateness[1].late, INT64_C(3600000000000));
		atomic_store(&window->credit, 2 * WINDOW_BUDGET - 1);
		CHECK_OK(queue_wait(&queue, 0, &err));
		assert_int_equal(late->stuck, 0); /* it is not late */
		atomic_store(&window->lateness[1].late, 1);
		for (unsigned i = 0; i < 2; i++)
			CHECK_OK(queue_wait(&queue, 0, &err));
		assert_int_equal(late->stuck, 1);
		assert_int_equal(later->stuck, 0); /* one of WINDOW_BUDGET */
		assert_int_equal(queue.left, 1);
		assert_int_equal(fake.count, 3);
		assert_int_not_equal(fake.begun[0]->member, fake.begun[2]->member);
		complete(wins ? 2 : 0, 0);
		complete(wins ? 0 : 1, 0);
		complete(0, 0);
		check_done(slot_of(other), 0);
		check_done(later, 1);
		assert_int_equal(late->let_go, 1);
		assert_int_equal(atomic_load(&window->hedges), 1);
		assert_int_equal(atomic_load(&window->wins), wins);
		close_held();
	}
}

CHECK_MAIN_WITH(make_volume, NULL, cmocka_unit_test(test_slots), cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_waits), cmocka_unit_test(test_failures), cmocka_unit_test(test_left),
		cmocka_unit_test(test_left_is_bounded), cmocka_unit_test(test_left_again), cmocka_unit_test(test_alone),
		cmocka_unit_test(test_watches), cmocka_unit_test(test_engines), cmocka_unit_test(test_held),
		cmocka_unit_test(test_turns), cmocka_unit_test(test_held_and_killed),
		cmocka_unit_test(test_hang_fills_no_window), cmocka_unit_test(test_held_and_left),
		cmocka_unit_test(test_hedges))
