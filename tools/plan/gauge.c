/* SPDX-License-Identifier: MIT */
/* Keeps more and more reads under way, until more bring little more; the slowest member counts. */
#include "plan/gauge.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/direct.h"
#include "base/huge.h"
#include "image/members/address.h"
#include "image/places.h"
#include "io/engine.h"

#define GAUGE_SMALL 4096u
#define GAUGE_LARGE (1u << 20)
#define GAUGE_DEPTH 256u                   /* the most reads under way */
#define GAUGE_LEAST 16u                    /* under way in the last step: fewer may run out on a busy machine, */
#define GAUGE_MANY  64u                    /* and of small ones so many: see gauge_size() */
#define GAUGE_STEPS 9u                     /* depths, from 1 to GAUGE_DEPTH */
#define GAUGE_LAST  9u                     /* steps that the last one takes: a limit may let a burst pass first */
#define GAUGE_VAIN  2u                     /* depths one after the other that brought no more reads a second */
#define GAUGE_MEMORY (32u << 20)           /* of reads under way: many large ones share their memory */
#define GAUGE_MORE  1.1                    /* times as many reads a second, for which a longer wait is worth it */
#define GAUGE_NOISE 1.05                   /* times as many small reads a second, which large ones may have by chance */
#define GAUGE_TURN  INT64_C(100000000)     /* ns: the kernel's limits let reads pass in turns that are so long */
#define GAUGE_TIMES 4096u
#define GAUGE_HANGS INT64_C(5000000000)    /* ns without any read coming back */

struct gauge_slot {
	struct io_read read; /* must be the first field */
	struct gauge_reads *run;
	int64_t begun;
};

/* The reads of one size on one member. */
struct gauge_reads {
	const struct extent_list *where;
	struct engine *engine;
	uint8_t *memory;
	struct gauge_slot slots[GAUGE_DEPTH];
	uint32_t member, size;
	uint64_t end; /* of the member */
	uint64_t places;       /* for a read of that size */
	uint64_t seed, drawn;  /* of random places, and how many were drawn */
	unsigned under_way;
	int64_t from, until; /* reads that end between the two count; none begins after the second */
	uint64_t ended;
	int64_t took[GAUGE_TIMES]; /* ns, of the last of them */
	int failed;          /* a negative errno; 0: none */
};

/* Returns how many places for a read of this size begin in the extent. */
static uint64_t gauge_places(const struct gauge_reads *run, const struct extent *extent)
{
	uint64_t begin = address_offset(extent->address), end = begin + extent->length;

	if (end > run->end) /* of a file that does not fill its last segment */
		end = run->end;
	if (address_member(extent->address) != run->member || end < begin + run->size)
		return 0;
	return (end - begin - run->size) / DIRECT_ALIGN + 1;
}

static uint64_t gauge_all_places(const struct gauge_reads *run)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < run->where->count; i++)
		sum += gauge_places(run, &run->where->items[i]);
	return sum;
}

/* Returns a random place on the member, which has at least one. */
static uint64_t gauge_place(struct gauge_reads *run)
{
	uint64_t number = places_key(run->seed, run->drawn++) % run->places, places;
	uint32_t i = 0;

	for (; number >= (places = gauge_places(run, &run->where->items[i])); i++)
		number -= places;
	return address_offset(run->where->items[i].address) + number * DIRECT_ALIGN;
}

static void gauge_done(struct io_read *read, int result);

static void gauge_begin(struct gauge_slot *slot)
{
	struct gauge_reads *run = slot->run;
	size_t number = (size_t)(slot - run->slots), room = GAUGE_MEMORY / run->size;

	slot->read = (struct io_read){ .member = run->member, .offset = gauge_place(run), .iov_count = 1,
				       .done = gauge_done };
	slot->read.iov[0] = (struct iovec){ run->memory + number % room * run->size, run->size };
	slot->begun = clock_now();
	run->under_way++;
	engine_read(run->engine, &slot->read);
}

static void gauge_done(struct io_read *read, int result)
{
	struct gauge_slot *slot = (struct gauge_slot *)read;
	struct gauge_reads *run = slot->run;
	int64_t now = clock_now();

	run->under_way--;
	if (result != (int)run->size && !run->failed)
		run->failed = result < 0 ? result : -ENODATA;
	if (now >= run->from && now < run->until)
		run->took[run->ended++ % GAUGE_TIMES] = now - slot->begun;
	if (now < run->until && !run->failed)
		gauge_begin(slot);
}

/* Keeps `depth` reads under way for so many ns. At least the first quarter of that does not count. */
static int gauge_step(struct gauge_reads *run, unsigned depth, int64_t ns, struct error *err)
{
	int64_t last = clock_now(), counts = ns / 4 * 3;
	bool readable;
	int r = 0;

	run->until = last + ns;
	run->from = run->until - (counts > GAUGE_TURN ? counts - counts % GAUGE_TURN : counts);
	run->ended = 0;
	for (unsigned i = 0; i < depth; i++)
		gauge_begin(&run->slots[i]);
	while (r == 0 && run->under_way) {
		run->engine->completions = 0;
		r = engine_wait(run->engine, true, &readable, err);
		if (run->engine->completions)
			last = clock_now();
		if (r == 0 && clock_now() - last > GAUGE_HANGS)
			r = error_set(err, -ETIMEDOUT, "it has not answered for %d s", (int)(GAUGE_HANGS / 1000000000));
	}
	if (r == 0 && run->failed)
		r = error_set(err, run->failed, "%s", strerror(-run->failed));
	return r;
}

static double gauge_rate(const struct gauge_reads *run)
{
	return (double)run->ended / ((double)(run->until - run->from) / 1e9);
}

static int gauge_compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Returns the seconds that half of the last step's reads took at most: a machine that has other things to do delays
 * some, which says nothing of the device. */
static double gauge_latency(struct gauge_reads *run)
{
	size_t count = run->ended < GAUGE_TIMES ? (size_t)run->ended : GAUGE_TIMES;

	if (!count)
		return (double)(run->until - run->from) / 1e9;
	qsort(run->took, count, sizeof(*run->took), gauge_compare);
	return (double)run->took[count / 2] / 1e9;
}

/* Finds how many reads a second the member gives, and how long one takes alone. Many small reads are under way in the
 * last step, as those of many workers are: under a limit of bytes 16 of 4 KiB take less than one of the kernel's turns,
 * and wait for the next one. */
static int gauge_size(struct gauge_reads *run, uint32_t size, int64_t ns, double *ret_rate, double *ret_latency,
		      struct error *err)
{
	unsigned depth = 1, vain = 0, least = size == GAUGE_SMALL ? GAUGE_MANY : GAUGE_LEAST;
	double alone = 0, most = 0;
	int r;

	run->size = size;
	run->places = gauge_all_places(run);
	if (!run->places)
		return error_set(err, -ENODATA, "the version has no %u KiB there in one piece", size / 1024);
	ns /= GAUGE_STEPS + GAUGE_LAST;
	for (; depth <= GAUGE_DEPTH && vain < GAUGE_VAIN; depth *= 2) {
		r = gauge_step(run, depth, ns, err);
		if (r < 0)
			return r;
		alone = depth == 1 ? gauge_latency(run) : alone;
		vain = gauge_latency(run) < 2 * alone || gauge_rate(run) > GAUGE_MORE * most ? 0 : vain + 1;
		most = gauge_rate(run) > most ? gauge_rate(run) : most;
	}
	depth = depth / 2 > least ? depth / 2 : least;
	r = gauge_step(run, depth, GAUGE_LAST * ns, err);
	if (r < 0)
		return r;
	if (!run->ended)
		return error_set(err, -ETIMEDOUT, "no read came back in time");
	*ret_rate = gauge_rate(run);
	*ret_latency = alone;
	return 0;
}

/* Computes the cost of a read, and of each of its bytes, from the rates of both sizes. */
static struct gauge gauge_model(double small, double large, double latency)
{
	double byte = (1 / large - 1 / small) / (GAUGE_LARGE - GAUGE_SMALL), read = 1 / small - GAUGE_SMALL * byte;

	if (large * GAUGE_NOISE > small)
		return (struct gauge){ .iops = small, .bandwidth = INFINITY, .latency = latency };
	return (struct gauge){ .iops = read > 0 ? 1 / read : small, .bandwidth = 1 / byte, .latency = latency };
}

static int gauge_member(struct gauge_reads *run, int64_t ns, struct gauge *ret, struct error *err)
{
	double small, large, latency, unused;
	int r = gauge_size(run, GAUGE_SMALL, ns / 2, &small, &latency, err);

	if (r == 0)
		r = gauge_size(run, GAUGE_LARGE, ns / 2, &large, &unused, err);
	if (r == 0)
		*ret = gauge_model(small, large, latency);
	return r;
}

static int gauge_engine(const struct volume *volume, struct gauge_reads *run, struct error *err)
{
	struct engine_setup setup = { .poll_fd = -1, .wake = -1, .volume_fds = volume->array->fds,
				      .member_count = volume->array->count, .depth = GAUGE_DEPTH };
	int r = ring_new(&setup, &run->engine, NULL);

	if (r < 0)
		r = pool_new(&setup, &run->engine, err);
	if (r == 0)
		run->engine->timeout = GAUGE_HANGS;
	return r;
}

/* Where a step ended early the kernel may still write to the memory, which is then kept until the program ends. */
static void gauge_close(struct gauge_reads *run)
{
	if (run->under_way)
		return;
	engine_free(run->engine);
	free(run->memory);
	free(run);
}

static int gauge_check(const struct volume *volume, struct error *err)
{
	for (uint32_t i = 0; i < volume->array->count; i++) {
		if (!array_has(volume->array, i))
			return error_set(err, -ENODEV, "member %u is missing: measure when all members are there", i);
		if (!volume->array->geometry[i].is_direct)
			return error_set(err, -EOPNOTSUPP, "member %u lies on a filesystem without direct I/O: memory "
					 "would be measured, so give --device", i);
	}
	return 0;
}

static int gauge_members(const struct volume *volume, struct gauge_reads *run, struct gauge *ret, struct error *err)
{
	uint32_t count = volume->array->count;
	struct gauge gauge = { 0 };
	int r;

	*ret = (struct gauge){ 0 };
	for (run->member = 0; run->member < count; run->member++) {
		run->end = volume->array->geometry[run->member].size;
		r = gauge_member(run, GAUGE_TIME / count, &gauge, err);
		if (r < 0)
			return error_wrap(err, r, "member %u", run->member);
		if (!run->member || gauge.iops < ret->iops)
			ret->iops = gauge.iops;
		if (!run->member || gauge.bandwidth < ret->bandwidth)
			ret->bandwidth = gauge.bandwidth;
		if (gauge.latency > ret->latency)
			ret->latency = gauge.latency;
	}
	return 0;
}

int gauge_run(const struct subject *subject, struct gauge *ret, struct error *err)
{
	struct gauge_reads *run;
	int r = gauge_check(subject->volume, err);

	if (r < 0)
		return r;
	run = calloc(1, sizeof(*run));
	if (!run)
		return error_no_memory(err);
	run->where = &subject->version->segments;
	run->seed = (uint64_t)clock_now();
	run->memory = huge_alloc(GAUGE_MEMORY);
	for (unsigned i = 0; i < GAUGE_DEPTH; i++)
		run->slots[i].run = run;
	r = run->memory ? gauge_engine(subject->volume, run, err) : error_no_memory(err);
	if (r == 0)
		r = gauge_members(subject->volume, run, ret, err);
	gauge_close(run);
	return r;
}
