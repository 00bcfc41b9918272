/* SPDX-License-Identifier: MIT */
/* Windows over a model of a device, by a clock of its own: shares of a busy device, classes, allowances, late reads. */
#include <errno.h>
#include <stdlib.h>

#include "io/window.h"
#include "lib/check.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

#define READERS  4u
#define CHANNELS 16u
#define FLIGHT   1024u

/* --- the model: channels that serve reads in their order, and readers that always want some --- */

struct flight {
	struct window_read read;
	unsigned reader;
	int64_t end;
};

static struct device {
	int64_t now, serves; /* ns of a read */
	unsigned channels;
	int64_t free[CHANNELS]; /* when each channel is */
	struct flight flights[FLIGHT];
	unsigned flying;
} device;

static struct reader {
	struct window *window; /* NULL: none */
	enum window_class class;
	unsigned threads, flying;
	uint64_t done;
	int64_t waited; /* sum of what reads took */
} readers[READERS];

static struct window *make(uint32_t members, uint64_t iops, uint64_t bandwidth)
{
	const struct window_setup setup = { .members = members, .is_adaptive = !iops && !bandwidth, .iops = iops,
					    .bandwidth = bandwidth };
	struct window *window;

	CHECK_OK(window_new(&setup, &window, &err));
	return window;
}

static void begin(unsigned channels, int64_t serves)
{
	device = (struct device){ .now = 1000 * MS, .serves = serves, .channels = channels };
	for (unsigned i = 0; i < READERS; i++)
		readers[i] = (struct reader){ 0 };
}

static void end(void)
{
	for (unsigned i = 0; i < READERS; i++)
		window_free(readers[i].window);
}

static void reader(unsigned number, enum window_class class, unsigned threads, bool has_window)
{
	readers[number].class = class;
	readers[number].threads = threads;
	readers[number].window = has_window ? make(1, 0, 0) : NULL;
}

static void fly(unsigned number)
{
	int64_t *free = &device.free[0];

	for (unsigned i = 1; i < device.channels; i++)
		if (device.free[i] < *free)
			free = &device.free[i];
	*free = (*free > device.now ? *free : device.now) + device.serves;
	assert_true(device.flying < FLIGHT);
	device.flights[device.flying++] =
		(struct flight){ .read = { .class = readers[number].class, .bytes = 4096, .begun = device.now },
				 .reader = number, .end = *free };
	readers[number].flying++;
}

static void start(unsigned number)
{
	struct reader *reader = &readers[number];

	while (reader->flying < reader->threads &&
	       (!reader->window || window_take(reader->window, reader->class, NULL, 4096, device.now)))
		fly(number);
}

static void land(unsigned i)
{
	struct flight flight = device.flights[i];
	struct reader *reader = &readers[flight.reader];

	device.flights[i] = device.flights[--device.flying];
	device.now = flight.end;
	reader->flying--;
	reader->done++;
	reader->waited += device.now - flight.read.begun;
	if (reader->window)
		window_end(reader->window, NULL, &flight.read, device.now, 4096);
	start(flight.reader);
}

/* Runs until that time, and looks at readers that wait for no read of their own every WINDOW_LOOK, as threads do. */
static void run(int64_t most)
{
	int64_t until = device.now + most, look = device.now;
	unsigned first;

	while (device.now < until) {
		if (look <= device.now) {
			for (unsigned i = 0; i < READERS; i++)
				start(i);
			look = device.now + WINDOW_LOOK;
		}
		first = 0;
		for (unsigned i = 1; i < device.flying; i++)
			if (device.flights[i].end < device.flights[first].end)
				first = i;
		if (device.flying && device.flights[first].end <= look)
			land(first);
		else
			device.now = look;
	}
}

/* Lets windows settle, and counts from then on. */
static void settle(void)
{
	run(2000 * MS);
	for (unsigned i = 0; i < READERS; i++)
		readers[i].done = 0, readers[i].waited = 0;
}

static double mean(unsigned number)
{
	return (double)readers[number].waited / (double)readers[number].done;
}

/* --- a window --- */

static struct window *window;
static int64_t now;

/* A read that takes so long, with others under way. */
static void one_of(uint32_t member, enum window_class class, int64_t took, uint64_t bytes)
{
	struct window_read read = { .class = class, .member = member, .bytes = bytes, .begun = now };

	assert_true(window_take(window, class, NULL, bytes, now));
	now += took;
	window_end(window, NULL, &read, now, (int64_t)bytes);
}

static void one(enum window_class class, int64_t took, uint64_t bytes)
{
	one_of(0, class, took, bytes);
}

/* Lets count reads begin; returns how many did. */
static unsigned take(enum window_class class, unsigned count)
{
	unsigned taken = 0;

	while (taken < count && window_take(window, class, NULL, 4096, now))
		taken++;
	return taken;
}

/* Ends count reads that began at that time. */
static void give(enum window_class class, unsigned count, int64_t begun)
{
	const struct window_read read = { .class = class, .bytes = 4096, .begun = begun };

	for (unsigned i = 0; i < count; i++)
		window_end(window, NULL, &read, now, 4096);
}

static double size(enum window_class class)
{
	return atomic_load(&window->shares[class].size);
}

static bool is_open(void)
{
	return atomic_load(&window->is_open);
}

static void fresh(void)
{
	window = make(1, 0, 0);
	now = 1000 * MS;
	one(WINDOW_DEMAND, 100 * US, 4096);
}

/* A window that has opened. */
static void opened(int64_t took)
{
	window = make(1, 0, 0);
	now = 1000 * MS;
	one(WINDOW_DEMAND, took, 4096);
	assert_false(is_open());
	now += WINDOW_FIRST;
	one(WINDOW_DEMAND, took, 4096);
	assert_true(is_open());
}

/* --- the tests --- */

static void test_no_limit_at_first(void **state)
{
	window = make(1, 0, 0);
	assert_int_equal(take(WINDOW_BACKGROUND, 9), 1); /* but for what disturbs others */
	window_free(window);
	fresh();
	assert_int_equal(take(WINDOW_DEMAND, 1000), 1000);
	give(WINDOW_DEMAND, 1000, now - 700 * US);
	assert_int_equal(take(WINDOW_DEMAND, 1000), 1000);
}

/* Reads one after the other, as a tool opens a volume, say nothing of how many a device serves at once. */
static void test_background_never_opens(void **state)
{
	window = make(1, 0, 0);
	now = 1000 * MS;
	for (unsigned i = 0; i < 30; i++)
		one(WINDOW_BACKGROUND, 100 * MS, 4096);
	assert_false(is_open());
	assert_true(take(WINDOW_BACKGROUND, 9) <= 2);
}

/* Reads that somebody waits for are not held back, those in the background by their own size. */
static void test_background_in_an_open_window(void **state)
{
	struct window_thread thread = { 0 };
	int64_t begun;

	opened(100 * US);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(window_take(window, WINDOW_DEMAND, &thread, 4096, now));
	assert_int_equal(take(WINDOW_BACKGROUND, 9), 1);
	begun = now;
	now += 100 * US;
	give(WINDOW_BACKGROUND, 1, begun);
	assert_int_equal(take(WINDOW_BACKGROUND, 9), 2);
	begun = now;
	now += 10 * MS;
	give(WINDOW_BACKGROUND, 2, begun);
	assert_true(is_open());
	assert_int_equal(take(WINDOW_BACKGROUND, 9), 1);
}

/* A round trip with this many reads; returns how many began. */
static unsigned round_trip(enum window_class class, unsigned count, int64_t took)
{
	unsigned taken = take(class, count);

	now += took;
	give(class, taken, now - took);
	return taken;
}

/* A tool that has a device for itself soon has as many under way as it wants, until so many reads are slow that its
 * window is cut. */
static void test_background_is_steep(void **state)
{
	window = make(1, 0, 0);
	now = 1000 * MS;
	for (unsigned i = 0; i < 40; i++)
		round_trip(WINDOW_BACKGROUND, 64, 100 * US);
	assert_true(size(WINDOW_BACKGROUND) > 30 && size(WINDOW_BACKGROUND) < 50);
	round_trip(WINDOW_BACKGROUND, 64, 10 * MS);
	assert_true(size(WINDOW_BACKGROUND) < 30);
	for (unsigned i = 0; i < 10; i++)
		round_trip(WINDOW_BACKGROUND, 64, 100 * US);
	assert_true(size(WINDOW_BACKGROUND) < 30);
}

/* One read of 16 takes longer than the others, as on any device now and then. */
static void test_background_stays_steep(void **state)
{
	unsigned taken = 0;
	int64_t begun;

	window = make(1, 0, 0);
	now = 1000 * MS;
	while (taken < 16)
		taken = round_trip(WINDOW_BACKGROUND, 16, 100 * US);
	begun = now;
	assert_int_equal(take(WINDOW_BACKGROUND, 16), 16);
	now += 100 * US;
	give(WINDOW_BACKGROUND, 15, begun);
	now += 10 * MS;
	give(WINDOW_BACKGROUND, 1, begun);
	assert_true(size(WINDOW_BACKGROUND) < 20);
	for (unsigned i = 0; i < 20; i++)
		round_trip(WINDOW_BACKGROUND, 64, 100 * US);
	assert_true(size(WINDOW_BACKGROUND) > 30);
}

/* All reads of a round trip are slow: the window is cut once. */
static void test_one_cut_a_round_trip(void **state)
{
	fresh();
	assert_int_equal(round_trip(WINDOW_DEMAND, 64, 2 * MS), 64);
	assert_true(size(WINDOW_DEMAND) == 128); /* what is not in use is no loss */
	atomic_store(&window->shares[WINDOW_DEMAND].size, 64);
	assert_int_equal(round_trip(WINDOW_DEMAND, 64, 2 * MS), 64);
	assert_true(size(WINDOW_DEMAND) == 32);
	assert_int_equal(round_trip(WINDOW_DEMAND, 64, 100 * US), 32);
	assert_true(size(WINDOW_DEMAND) > 32 && size(WINDOW_DEMAND) <= 32 + WINDOW_GROWTH);
	assert_int_equal(round_trip(WINDOW_DEMAND, 64, 1 * MS), 33); /* hardly too slow */
	assert_true(size(WINDOW_DEMAND) > 25 && size(WINDOW_DEMAND) < 26);
}

/* A member that stalls is no reason to keep the reads of others waiting. */
static void test_one_slow_member(void **state)
{
	window = make(2, 0, 0);
	now = 1000 * MS;
	one(WINDOW_DEMAND, 100 * US, 4096);
	atomic_store(&window->shares[WINDOW_DEMAND].size, 64);
	for (unsigned i = 0; i < 100; i++) {
		one_of(1, WINDOW_DEMAND, 100 * US, 4096);
		round_trip(WINDOW_DEMAND, 64, 20 * MS);
	}
	assert_true(size(WINDOW_DEMAND) >= 64);
}

/* On any device single reads are slow. */
static void test_single_slow_reads(void **state)
{
	int64_t begun;

	fresh();
	atomic_store(&window->shares[WINDOW_DEMAND].size, 64);
	for (unsigned i = 0; i < 100; i++) {
		assert_true(take(WINDOW_DEMAND, 64) == 64);
		begun = now;
		now += 100 * US;
		give(WINDOW_DEMAND, 60, begun);
		now += 900 * US;
		give(WINDOW_DEMAND, 4, begun);
	}
	assert_true(size(WINDOW_DEMAND) > 64);
}

/* A read of 1 MiB takes longer than one of 4 KiB without any queue. */
static void test_sizes_apart(void **state)
{
	fresh();
	for (unsigned i = 0; i < 200; i++)
		one(WINDOW_DEMAND, 2 * MS, 1 << 20);
	assert_true(is_open() && size(WINDOW_DEMAND) == WINDOW_MOST);
	for (unsigned i = 0; i < 2; i++) /* the first one closes it */
		one(WINDOW_DEMAND, 2 * MS, 4096);
	assert_true(size(WINDOW_DEMAND) < WINDOW_MOST);
}

static void test_never_below_one(void **state)
{
	fresh();
	for (unsigned i = 0; i < 100; i++) {
		round_trip(WINDOW_DEMAND, 64, 20 * MS);
		round_trip(WINDOW_AHEAD, 64, 20 * MS);
	}
	assert_int_equal(take(WINDOW_DEMAND, 9), 1);
	assert_int_equal(take(WINDOW_AHEAD, 9), 1);
	assert_true(size(WINDOW_BACKGROUND) < 1);
}

/* Nothing is held back, and nothing counted together, until more than single reads are slow. Then a thread's reads
 * count from its next call on. */
static void test_open(void **state)
{
	struct window_thread threads[2] = { 0 };
	struct window_read read = { .bytes = 4096 };
	_Atomic uint32_t *together;

	opened(100 * US);
	together = &window->shares[WINDOW_DEMAND].under_way;
	read.begun = now;
	for (unsigned i = 0; i < 10000; i++)
		assert_true(window_take(window, WINDOW_DEMAND, &threads[i % 2], 4096, now));
	for (unsigned i = 0; i < 1000; i++) {
		now = read.begun + (i % 5 ? 100 * US : 2 * MS);
		window_end(window, &threads[0], &read, now, 4096);
	}
	assert_true(is_open());
	assert_int_equal(*together, 0);
	for (unsigned i = 0; i < 1000; i++)
		window_end(window, &threads[0], &read, now = read.begun + 2 * MS, 4096);
	assert_false(is_open());
	window_drop(window, WINDOW_DEMAND, &threads[0]);
	assert_int_equal(*together, 2999);
	window_drop(window, WINDOW_DEMAND, &threads[1]);
	assert_int_equal(*together, 7998);
	assert_false(window_take(window, WINDOW_DEMAND, &threads[0], 4096, now));
}

/* A window that holds nothing back any more opens. */
static void test_opens_again(void **state)
{
	struct window_thread thread = { 0 };

	fresh();
	assert_true(window_take(window, WINDOW_DEMAND, &thread, 4096, now));
	for (unsigned i = 0; i < 30; i++) {
		atomic_store(&window->shares[WINDOW_DEMAND].size, 1.0);
		assert_false(window_take(window, WINDOW_DEMAND, &thread, 4096, now)); /* somebody waits */
		now += WINDOW_CALM / 10;
		window_drop(window, WINDOW_DEMAND, &thread);
		one(WINDOW_DEMAND, 100 * US, 4096);
		assert_true(window_take(window, WINDOW_DEMAND, &thread, 4096, now));
	}
	assert_false(is_open());
	window_drop(window, WINDOW_DEMAND, &thread);
	for (unsigned i = 0; i < 12; i++) {
		assert_int_equal(is_open(), i > 9);
		one(WINDOW_DEMAND, 100 * US, 4096);
		now += WINDOW_CALM / 10;
	}
	assert_true(size(WINDOW_DEMAND) == WINDOW_MOST);
	assert_true(window_take(window, WINDOW_DEMAND, &thread, 4096, now));
	assert_int_equal(window->shares[WINDOW_DEMAND].under_way, 0);
}

/* Where reads take a few microseconds there is no device that others share, and some hundred are no sign of load. */
static void test_memory(void **state)
{
	opened(10 * US);
	for (unsigned i = 0; i < 100; i++)
		one(WINDOW_DEMAND, 900 * US, 4096);
	assert_true(is_open());
	one(WINDOW_DEMAND, 1100 * US, 4096);
	assert_false(is_open()); /* of a thread that waits for each read */
}

/* While the reader itself was busy, the device may long have been ready. */
static void test_own_time(void **state)
{
	struct window_read read = { .bytes = 4096 };

	fresh();
	for (unsigned i = 0; i < 10; i++) {
		read.begun = now;
		assert_true(window_take(window, WINDOW_DEMAND, NULL, 4096, now));
		now += 10 * MS;
		assert_true(window_is_slow(window, &read, now));
		read.own = i < 5 ? 10 * MS - 100 * US : 0;
		window_end(window, NULL, &read, now, 4096);
		assert_true((size(WINDOW_DEMAND) == WINDOW_MOST) == (i < 5));
	}
}

/* Nothing is known of the load while nothing is under way. */
static void test_idle(void **state)
{
	fresh();
	for (unsigned i = 0; i < 100; i++)
		one(WINDOW_DEMAND, 20 * MS, 4096);
	assert_true(size(WINDOW_DEMAND) == 2 * WINDOW_SMALL);
}

/* A device that has become slower for good is taken for what it is. */
static void test_base_follows(void **state)
{
	fresh();
	for (unsigned i = 0; i < 100000; i++)
		one(WINDOW_DEMAND, 4 * MS, 4096);
	assert_true(atomic_load(&window->members[0].bases[0].base) > 3 * MS);
	assert_true(size(WINDOW_DEMAND) > 1.5);
}

static void test_failures_teach_nothing(void **state)
{
	struct window_read read = { .bytes = 4096 };

	fresh();
	for (unsigned i = 0; i < 10; i++) {
		read.begun = now;
		assert_true(window_take(window, WINDOW_DEMAND, NULL, 4096, now));
		now += 5000 * MS;
		window_end(window, NULL, &read, now, -EIO);
	}
	assert_true(size(WINDOW_DEMAND) == WINDOW_MOST);
	assert_int_equal(atomic_load(&window->shares[WINDOW_DEMAND].under_way), 0);
}

/* Many threads against few: each mount has about a half of the device, and the device stays busy. */
static void test_shares(void **state)
{
	uint64_t most = 4 * (10000 * MS / (400 * US));

	begin(4, 400 * US);
	reader(0, WINDOW_DEMAND, 64, true);
	reader(1, WINDOW_DEMAND, 16, true);
	settle();
	run(10000 * MS);
	print_message("%.3f of the device for the small one, %.3f for both\n", (double)readers[1].done / (double)most,
		      (double)(readers[0].done + readers[1].done) / (double)most);
	assert_true(readers[1].done * 100 >= most * 45);
	assert_true((readers[0].done + readers[1].done) * 100 >= most * 97);
	end();
}

/* A background reader takes what is left and no more. */
static void test_background(void **state)
{
	uint64_t alone, most = 4 * (10000 * MS / (400 * US));
	double was;

	begin(4, 400 * US);
	reader(0, WINDOW_DEMAND, 2, true);
	settle();
	run(10000 * MS);
	alone = readers[0].done;
	was = mean(0);
	end();
	begin(4, 400 * US);
	reader(0, WINDOW_DEMAND, 2, true);
	reader(1, WINDOW_BACKGROUND, 64, true);
	settle();
	run(10000 * MS);
	print_message("a reader takes %.2f times as long, the background gets %.2f of the rest\n", mean(0) / was,
		      (double)readers[1].done / (double)(most - alone));
	assert_true(readers[0].done < alone);
	assert_true(mean(0) < 3.6 * was);
	assert_true(readers[1].done * 2 >= most - alone);
	end();
}

/* Where demand alone makes reads slow, a background window falls below 1 and waits between two reads. */
static void test_background_paces(void **state)
{
	begin(1, 400 * US);
	reader(1, WINDOW_BACKGROUND, 64, true);
	settle();
	reader(0, WINDOW_DEMAND, 6, false);
	settle();
	run(10000 * MS);
	assert_true(readers[1].done > 0);
	assert_true(readers[1].done * 20 < readers[0].done);
	end();
}

/* Takes all that an allowance gives in so many ms, in looks of one. */
static uint64_t allowed(unsigned ms, uint64_t bytes)
{
	uint64_t taken = 0;

	for (unsigned i = 0; i < ms; i++, now += MS)
		for (; window_take(window, WINDOW_DEMAND, NULL, bytes, now); taken++) {
			const struct window_read read = { .bytes = bytes, .begun = now };

			window_end(window, NULL, &read, now, (int64_t)bytes);
		}
	return taken;
}

static void test_allowances(void **state)
{
	now = 1000 * MS;
	window = make(1, 500, 0);
	assert_in_range(allowed(2000, 4096), 1000, 1007);
	window_divide(window, 4);
	assert_in_range(allowed(2000, 4096), 245, 257);
	window_free(window);
	window = make(1, 0, 64 << 20);
	assert_in_range(allowed(2000, 1 << 20), 127, 130);
	window_free(window);
	window = make(1, 500, 1 << 20); /* what one allowance refuses is not taken from the other */
	assert_in_range(allowed(2000, 1 << 18), 7, 10);
	assert_true(atomic_load(&window->iops.due) <= now);
}

/* Threads whose reads wait have equal parts. */
static void test_threads(void **state)
{
	struct window_thread many = { .under_way = 6 }, none = { 0 };

	fresh();
	atomic_store(&window->shares[WINDOW_DEMAND].size, 8.0);
	assert_true(window_is_fair(window, WINDOW_DEMAND, &many));
	window_tell(window, &none, true);
	assert_true(none.hungers);
	assert_false(window_is_fair(window, WINDOW_DEMAND, &many));
	many.under_way = 3;
	assert_true(window_is_fair(window, WINDOW_DEMAND, &many));
	assert_true(window_is_fair(window, WINDOW_DEMAND, &none));
	/* One read for two threads: who had it lets the other one go first, and then hungers, too. */
	atomic_store(&window->shares[WINDOW_DEMAND].size, 1.0);
	many.under_way = 0;
	many.claims = true;
	atomic_store(&window->claimants, 2);
	assert_false(window_is_fair(window, WINDOW_DEMAND, &many));
	assert_true(window_pause(window, WINDOW_DEMAND, true, now) < WINDOW_LOOK);
	window_tell(window, &many, true);
	assert_true(window_is_fair(window, WINDOW_DEMAND, &many));
	window_tell(window, &many, false);
	window_tell(window, &none, false);
	assert_int_equal(atomic_load(&window->claimants), 0);
	assert_int_equal(atomic_load(&window->hungry), 0);
}

static void test_late(void **state)
{
	unsigned hedges = 0;

	fresh();
	assert_true(window_late(window, 4096) == INT64_MAX);
	window_allow_hedges(window);
	for (unsigned i = 0; i < 2 * WINDOW_KNOWN; i++)
		one(WINDOW_DEMAND, i % 50 ? 100 * US : 300 * US, 4096);
	assert_in_range(window_late(window, 4096), 600 * US, 750 * US); /* WINDOW_LATE times the median */
	assert_true(window_late(window, 1 << 20) == INT64_MAX);
	while (window_hedge(window))
		hedges++;
	assert_int_equal(hedges, WINDOW_SAVED);
	for (unsigned i = 0; i < 5000; i++) {
		one(WINDOW_DEMAND, 100 * US, 4096);
		hedges += window_hedge(window);
	}
	assert_int_equal(hedges, WINDOW_SAVED + 100); /* 2 % */
}

/* While the window shrinks, the device is busy, and more reads would make it worse. */
static void test_late_in_a_queue(void **state)
{
	fresh();
	window_allow_hedges(window);
	for (unsigned i = 0; i < 2 * WINDOW_KNOWN; i++)
		one(WINDOW_DEMAND, 100 * US, 4096);
	assert_true(window_late(window, 4096) < INT64_MAX);
	one(WINDOW_DEMAND, 900 * US, 4096);
	assert_true(window_late(window, 4096) == INT64_MAX);
	assert_false(window_hedge(window));
}

static int free_window(void **state)
{
	window_free(window);
	return 0;
}

#define WINDOW_TEST(test) cmocka_unit_test_teardown(test, free_window)

CHECK_MAIN(WINDOW_TEST(test_no_limit_at_first), WINDOW_TEST(test_background_never_opens),
	   WINDOW_TEST(test_background_in_an_open_window), WINDOW_TEST(test_background_is_steep),
	   WINDOW_TEST(test_background_stays_steep), WINDOW_TEST(test_one_cut_a_round_trip),
	   WINDOW_TEST(test_sizes_apart), WINDOW_TEST(test_single_slow_reads), WINDOW_TEST(test_one_slow_member),
	   WINDOW_TEST(test_never_below_one), WINDOW_TEST(test_open), WINDOW_TEST(test_opens_again),
	   WINDOW_TEST(test_memory), WINDOW_TEST(test_own_time), WINDOW_TEST(test_idle), WINDOW_TEST(test_base_follows),
	   WINDOW_TEST(test_failures_teach_nothing), cmocka_unit_test(test_shares), cmocka_unit_test(test_background),
	   cmocka_unit_test(test_background_paces), WINDOW_TEST(test_allowances), WINDOW_TEST(test_threads),
	   WINDOW_TEST(test_late), WINDOW_TEST(test_late_in_a_queue))
