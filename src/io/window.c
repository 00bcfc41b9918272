/* SPDX-License-Identifier: MIT */
/* Additive growth and multiplicative cuts, by the delay of each read. A cut is due once a round trip: reads that were
 * under way at the last one met the same queue. Sizes are loaded and stored, not exchanged: when two threads learn at
 * once, one of the two lessons may be lost. */
#include "io/window.h"

#include <stdlib.h>

/* A read that took more than so many times its base shrinks the window of the class. */
static const double window_patience[WINDOW_CLASSES] = {
	[WINDOW_DEMAND] = 8, [WINDOW_AHEAD] = 5, [WINDOW_BACKGROUND] = 3.5,
};

/* A class below 1 waits between two reads; reads that a program waits for never do. */
static const double window_least[WINDOW_CLASSES] = {
	[WINDOW_DEMAND] = 1, [WINDOW_AHEAD] = 1, [WINDOW_BACKGROUND] = WINDOW_LEAST,
};

#define WINDOW_LOAD(FIELD)         atomic_load_explicit(&(FIELD), memory_order_relaxed)
#define WINDOW_STORE(FIELD, VALUE) atomic_store_explicit(&(FIELD), (VALUE), memory_order_relaxed)
#define WINDOW_ADD(FIELD, N)       atomic_fetch_add_explicit(&(FIELD), (N), memory_order_relaxed)
#define WINDOW_SUB(FIELD, N)       atomic_fetch_sub_explicit(&(FIELD), (N), memory_order_relaxed)

/* Sets the sizes of a window that knows nothing of its devices. In the background one read shows whether they have room
 * for two. */
static void window_forget_sizes(struct window *window)
{
	struct window_share *background = &window->shares[WINDOW_BACKGROUND];

	for (unsigned i = 0; i < WINDOW_CLASSES; i++)
		WINDOW_STORE(window->shares[i].size, WINDOW_MOST);
	if (window->is_adaptive)
		WINDOW_STORE(background->size, 1);
	WINDOW_STORE(background->is_steep, true);
}

int window_new(const struct window_setup *setup, struct window **ret, struct error *err)
{
	struct window *window = calloc(1, sizeof(*window) + setup->members * sizeof(window->members[0]));

	if (!window)
		return error_no_memory(err);
	window->count = setup->members;
	window->is_adaptive = setup->is_adaptive;
	window->iops.rate = setup->iops;
	window->bandwidth.rate = setup->bandwidth;
	window->is_open = !setup->is_adaptive;
	window->sharers = 1;
	window_forget_sizes(window);
	*ret = window;
	return 0;
}

void window_free(struct window *window)
{
	free(window);
}

void window_allow_hedges(struct window *window)
{
	WINDOW_STORE(window->is_redundant, true);
}

void window_divide(struct window *window, uint32_t sharers)
{
	if (WINDOW_LOAD(window->sharers) != sharers && sharers)
		WINDOW_STORE(window->sharers, sharers);
}

#define WINDOW_BLOCK_LOG 12u /* the first size */
#define WINDOW_BLOCK     (1u << WINDOW_BLOCK_LOG)

static unsigned window_size(uint64_t bytes)
{
	unsigned log = bytes > WINDOW_BLOCK ? 64 - (unsigned)__builtin_clzll(bytes - 1) - WINDOW_BLOCK_LOG : 0;

	return log < WINDOW_SIZES ? log : WINDOW_SIZES - 1;
}

/* ---- reads under way ---- */

/* Whether reads of the class begin without being counted together. */
static bool window_is_free(const struct window *window, enum window_class class)
{
	return WINDOW_LOAD(window->is_open) && (class != WINDOW_BACKGROUND || !window->is_adaptive);
}

static uint32_t window_under_way(const struct window *window)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < WINDOW_CLASSES; i++)
		sum += WINDOW_LOAD(window->shares[i].under_way);
	return sum;
}

/* Counts a read more, or UINT32_MAX for one less, as the thread's own and, unless the class is free, together with
 * those of other threads. */
static void window_count(struct window *window, enum window_class class, struct window_thread *thread, uint32_t more)
{
	_Atomic uint32_t *under_way = &window->shares[class].under_way;
	bool is_counted = !window_is_free(window, class);

	if (!thread) {
		WINDOW_ADD(*under_way, more);
		return;
	}
	if (thread->is_counted != is_counted)
		WINDOW_ADD(*under_way, is_counted ? thread->under_way : -thread->under_way);
	thread->is_counted = is_counted;
	thread->under_way += more;
	if (is_counted)
		WINDOW_ADD(*under_way, more);
}

/* The present sizes are older than WINDOW_CALM and say nothing. */
static void window_open(struct window *window)
{
	window_forget_sizes(window);
	WINDOW_STORE(window->is_open, true);
}

/* Only reads that begin from now on may shrink it: when one of them has ended, all are counted. */
static void window_close(struct window *window, int64_t now)
{
	for (unsigned i = 0; i < WINDOW_CLASSES; i++) {
		WINDOW_STORE(window->shares[i].slow, 0);
		WINDOW_STORE(window->shares[i].slow_at, 0);
		WINDOW_STORE(window->shares[i].shrunk, now);
	}
	WINDOW_STORE(window->peak, 0);
	WINDOW_STORE(window->former, 0);
	WINDOW_STORE(window->ends, 0);
	WINDOW_STORE(window->limited, now);
	WINDOW_STORE(window->is_open, false);
}

/* ---- may a read begin? ---- */

/* Several threads that ask at once may get one read more each. */
static bool window_has_room(const struct window *window, enum window_class class, int64_t now)
{
	const struct window_share *share = &window->shares[class];
	double size = WINDOW_LOAD(share->size);

	if (!WINDOW_LOAD(share->under_way))
		return size >= 1 || now >= WINDOW_LOAD(share->due);
	return window_under_way(window) < size;
}

/* Returns the ns in which the allowance is worth n. */
static int64_t window_price(const struct window *window, const struct window_allowance *allowance, uint64_t n)
{
	return (int64_t)((double)n * 1e9 * WINDOW_LOAD(window->sharers) / (double)allowance->rate);
}

static bool window_pay(const struct window *window, struct window_allowance *allowance, uint64_t n, int64_t now)
{
	int64_t due = WINDOW_LOAD(allowance->due), from;

	if (!allowance->rate)
		return true;
	do {
		if (due > now)
			return false;
		from = due < now - WINDOW_BURST ? now - WINDOW_BURST : due;
	} while (!atomic_compare_exchange_weak(&allowance->due, &due, from + window_price(window, allowance, n)));
	return true;
}

static void window_refund(const struct window *window, struct window_allowance *allowance, uint64_t n)
{
	if (allowance->rate)
		WINDOW_SUB(allowance->due, window_price(window, allowance, n));
}

static bool window_pay_both(struct window *window, uint64_t bytes, int64_t now)
{
	if (!window_pay(window, &window->iops, 1, now))
		return false;
	if (window_pay(window, &window->bandwidth, bytes, now))
		return true;
	window_refund(window, &window->iops, 1);
	return false;
}

bool window_take(struct window *window, enum window_class class, struct window_thread *thread, uint64_t bytes,
		 int64_t now)
{
	bool is_free = window_is_free(window, class);
	uint32_t under_way;

	if (!is_free && ((thread && !window_is_fair(window, class, thread)) || !window_has_room(window, class, now))) {
		if (class != WINDOW_BACKGROUND)
			WINDOW_STORE(window->limited, now);
		return false;
	}
	if (!window_pay_both(window, bytes, now))
		return false;
	window_count(window, class, thread, 1);
	under_way = is_free ? 0 : window_under_way(window);
	if (under_way > WINDOW_LOAD(window->peak))
		WINDOW_STORE(window->peak, under_way);
	return true;
}

void window_drop(struct window *window, enum window_class class, struct window_thread *thread)
{
	window_count(window, class, thread, UINT32_MAX);
}

/* ---- threads of one window ---- */

static void window_move(_Atomic uint32_t *count, bool was, bool is)
{
	if (was != is)
		atomic_fetch_add_explicit(count, is ? 1u : UINT32_MAX, memory_order_relaxed);
}

void window_tell(struct window *window, struct window_thread *thread, bool claims)
{
	bool hungers = claims && !thread->under_way;

	window_move(&window->claimants, thread->claims, claims);
	window_move(&window->hungry, thread->hungers, hungers);
	thread->claims = claims;
	thread->hungers = hungers;
}

/* A thread that has had a read until now lets those go first that have none. */
bool window_is_fair(const struct window *window, enum window_class class, const struct window_thread *thread)
{
	double size = WINDOW_LOAD(window->shares[class].size);
	uint32_t threads = WINDOW_LOAD(window->claimants) + !thread->claims;

	if (WINDOW_LOAD(window->is_open) || threads == 1)
		return true;
	if (thread->under_way)
		return (double)(thread->under_way + 1) * threads <= size;
	return thread->hungers || size >= threads || !WINDOW_LOAD(window->hungry);
}

int64_t window_pause(const struct window *window, enum window_class class, bool hungers, int64_t now)
{
	const struct window_share *share = &window->shares[class];
	int64_t pause = WINDOW_LOOK, turn = WINDOW_TURN * WINDOW_LOAD(window->hungry);
	int64_t dues[] = { WINDOW_LOAD(window->iops.due), WINDOW_LOAD(window->bandwidth.due),
			   WINDOW_LOAD(share->size) < 1 ? WINDOW_LOAD(share->due) : 0 };

	if (hungers && turn < pause)
		pause = turn;
	for (unsigned i = 0; i < sizeof(dues) / sizeof(*dues); i++)
		if (pause < dues[i] - now)
			pause = dues[i] - now;
	return pause;
}

/* ---- the device as a read shows it ---- */

/* Returns the base that is known; 0: none is. */
static int64_t window_known(const struct window_base *entry)
{
	int64_t base = WINDOW_LOAD(entry->base);

	return base < WINDOW_NOISE && WINDOW_LOAD(entry->is_quick) ? WINDOW_NOISE : base;
}

/* Updates a base: a faster read sets it at once, slower ones raise it gradually. */
static void window_rebase(struct window_base *entry, int64_t took, int64_t now)
{
	int64_t base = WINDOW_LOAD(entry->base), since = now - WINDOW_LOAD(entry->at), above;

	if (took < WINDOW_MEMORY && !WINDOW_LOAD(entry->is_quick))
		WINDOW_STORE(entry->is_quick, true);
	took = took > WINDOW_QUICK ? took : WINDOW_QUICK;
	if (took < base || !base) {
		WINDOW_STORE(entry->base, took);
		WINDOW_STORE(entry->at, now);
	} else if (since > WINDOW_DRIFT / 65536) {
		since = since < WINDOW_DRIFT / 64 ? since : WINDOW_DRIFT / 64;
		above = took - base < base ? took - base : base;
		base += (int64_t)((double)above * (double)since / WINDOW_DRIFT);
		WINDOW_STORE(entry->base, base);
		WINDOW_STORE(entry->at, now);
	}
}

/* Cuts the window by the read's excess time. An unused part of a window only shrinks towards the used part. Returns
 * whether the window is in use. */
static bool window_shrink(struct window_share *share, double least, double used, double cut)
{
	double size = WINDOW_LOAD(share->size), most = 2 * (used > WINDOW_SMALL ? used : WINDOW_SMALL);
	bool is_used = 2 * used >= size;

	if (is_used)
		size *= cut > WINDOW_CUT ? cut : WINDOW_CUT;
	else if (size > most)
		size = most;
	WINDOW_STORE(share->size, size > least ? size : least);
	return is_used;
}

/* A window that is not full does not grow: nothing shows that it could. Of several windows that share, each grows by
 * so much less that they are as large as one together. */
static void window_grow(struct window_share *share, double used, double sharers)
{
	double size = WINDOW_LOAD(share->size), growth = WINDOW_LOAD(share->is_steep) ? WINDOW_STEEP : WINDOW_GROWTH;

	if (size < WINDOW_MOST && used + 1 > size)
		WINDOW_STORE(share->size, size + growth / (size * sharers * sharers));
}

/* Returns how many reads are under way when all that could be are: the most of a round trip or two. */
static uint32_t window_busy(struct window *window)
{
	uint32_t peak = WINDOW_LOAD(window->peak), former = WINDOW_LOAD(window->former);
	uint32_t busy = peak > former ? peak : former;

	if (WINDOW_ADD(window->ends, 1) < busy)
		return busy;
	WINDOW_STORE(window->ends, 0);
	WINDOW_STORE(window->former, peak);
	WINDOW_STORE(window->peak, window_under_way(window));
	return busy;
}

static int64_t window_limit(int64_t base, enum window_class class)
{
	return (int64_t)((double)base * window_patience[class]);
}

/* Slow reads of one member in a row count once: a volume that is busy is slow everywhere, and a member that stalls is
 * no reason to keep others waiting. */
static void window_learn(struct window *window, enum window_class class, const struct window_read *read, int64_t base,
			 double used, int64_t now)
{
	struct window_share *share = &window->shares[class];
	int64_t took = now - read->begun - read->own, limit = window_limit(base, class);
	uint32_t slow = WINDOW_LOAD(share->slow);
	bool is_used;

	if (took <= limit) {
		if (slow)
			WINDOW_STORE(share->slow, slow - 1);
		window_grow(share, used, WINDOW_LOAD(window->sharers));
	} else if (read->begun >= WINDOW_LOAD(share->shrunk)) {
		if (window->count > 1 && WINDOW_LOAD(share->slow_at) == read->member + 1)
			return;
		WINDOW_STORE(share->slow_at, read->member + 1);
		WINDOW_STORE(share->slow, slow + WINDOW_SLOW);
		if (slow + WINDOW_SLOW < used)
			return;
		WINDOW_STORE(share->is_steep, false);
		WINDOW_STORE(share->slow, 0);
		WINDOW_STORE(share->shrunk, now);
		is_used = window_shrink(share, window_least[class], used, (double)limit / (double)took);
		if (is_used && class == read->class && class != WINDOW_BACKGROUND)
			WINDOW_STORE(window->limited, now);
		if (class == WINDOW_DEMAND)
			WINDOW_STORE(window->credit, 0);
	}
}

/* Below 1, the share of the time in which a read is under way is the window. */
static void window_pace(struct window_share *share, const struct window_read *read, int64_t now)
{
	double size = WINDOW_LOAD(share->size);

	if (size < 1)
		WINDOW_STORE(share->due, read->begun + (int64_t)((double)(now - read->begun) / size));
}

/* ---- late reads ---- */

#define WINDOW_STEP_LEAST (1 << 12) /* ns */

static unsigned window_step(int64_t took)
{
	uint64_t ns = took > WINDOW_STEP_LEAST ? (uint64_t)took : WINDOW_STEP_LEAST;
	unsigned log = 63 - (unsigned)__builtin_clzll(ns), step = (log - 12) * 4 + (unsigned)(ns >> (log - 2) & 3);

	return step < WINDOW_STEPS ? step : WINDOW_STEPS - 1;
}

/* The end of a step, in ns. */
static int64_t window_step_end(unsigned step)
{
	return (INT64_C(5) + step % 4) << (step / 4 + 10);
}

/* Returns how long reads took, but for a part of them, one in rest. */
static int64_t window_quantile(const struct window_lateness *lateness, uint32_t rest)
{
	uint32_t longer = WINDOW_LOAD(lateness->count) / rest;
	unsigned step = WINDOW_STEPS;

	for (uint32_t sum = 0; step > 1 && sum <= longer;)
		sum += WINDOW_LOAD(lateness->steps[--step]);
	return window_step_end(step);
}

/* Computes anew when a read is late, and halves the counts of past reads. */
static void window_judge(struct window_lateness *lateness)
{
	int64_t high = window_quantile(lateness, 20), middle = window_quantile(lateness, 2);

	WINDOW_STORE(lateness->late, high > WINDOW_LATE * middle ? high : WINDOW_LATE * middle);
	for (unsigned i = 0; i < WINDOW_STEPS; i++)
		WINDOW_SUB(lateness->steps[i], WINDOW_LOAD(lateness->steps[i]) / 2);
}

static void window_note(struct window *window, uint64_t bytes, int64_t took)
{
	struct window_lateness *lateness = &window->lateness[window_size(bytes)];

	WINDOW_ADD(lateness->steps[window_step(took)], 1);
	if (WINDOW_ADD(lateness->count, 1) + 1 == 2 * WINDOW_KNOWN) {
		window_judge(lateness);
		WINDOW_SUB(lateness->count, WINDOW_KNOWN);
	}
	if (WINDOW_LOAD(window->credit) < WINDOW_BUDGET * WINDOW_SAVED)
		WINDOW_ADD(window->credit, 1);
}

int64_t window_late(const struct window *window, uint64_t bytes)
{
	int64_t late = WINDOW_LOAD(window->lateness[window_size(bytes)].late);

	return late && WINDOW_LOAD(window->credit) >= WINDOW_BUDGET ? late : INT64_MAX;
}

bool window_hedge(struct window *window)
{
	uint32_t credit = WINDOW_LOAD(window->credit);

	do
		if (credit < WINDOW_BUDGET)
			return false;
	while (!atomic_compare_exchange_weak(&window->credit, &credit, credit - WINDOW_BUDGET));
	WINDOW_ADD(window->hedges, 1);
	return true;
}

void window_won(struct window *window)
{
	WINDOW_ADD(window->wins, 1);
}

/* ---- the end of a read ---- */

bool window_is_slow(const struct window *window, const struct window_read *read, int64_t now)
{
	int64_t base = window_known(&window->members[read->member].bases[window_size(read->bytes)]);

	return window->is_adaptive && now - read->begun > window_limit(base, WINDOW_AHEAD);
}

static void window_time(struct window_member *member, enum window_class class, int64_t took)
{
	uint64_t us = (uint64_t)took / 1000;
	unsigned bucket = us ? 64 - (unsigned)__builtin_clzll(us) : 0;

	WINDOW_ADD(member->times[class][bucket < WINDOW_TIMES ? bucket : WINDOW_TIMES - 1], 1);
	WINDOW_ADD(member->sums[class], (uint64_t)took);
}

/* Changes the sizes of the classes from first on. */
static void window_learn_all(struct window *window, enum window_class first, const struct window_read *read,
			     int64_t base, int64_t now)
{
	double used = window_busy(window);

	for (unsigned i = first; i < WINDOW_CLASSES; i++)
		window_learn(window, i, read, base, used, now);
	window_pace(&window->shares[read->class], read, now);
}

/* Returns whether more than one of WINDOW_SLOW of the thread's reads were slow lately. */
static bool window_suffers(struct window_thread *thread, bool is_slow)
{
	uint32_t most = thread && thread->under_way > 2 * WINDOW_SLOW ? thread->under_way : 2 * WINDOW_SLOW;

	if (!thread)
		return is_slow;
	if (is_slow)
		thread->slow += WINDOW_SLOW;
	else if (thread->slow)
		thread->slow--;
	if (thread->slow < most)
		return false;
	thread->slow = 0;
	return true;
}

/* Opens the window, closes it, or changes its sizes. */
static void window_adapt(struct window *window, struct window_thread *thread, const struct window_read *read,
			 int64_t base, int64_t now)
{
	bool is_slow = now - read->begun - read->own > window_limit(base, read->class);

	if (WINDOW_LOAD(window->is_open)) {
		if (read->class == WINDOW_BACKGROUND)
			window_learn_all(window, WINDOW_BACKGROUND, read, base, now);
		else if (window_suffers(thread, is_slow))
			window_close(window, now);
		return;
	}
	window_learn_all(window, WINDOW_DEMAND, read, base, now);
	if (read->class == WINDOW_BACKGROUND)
		return;
	if (!WINDOW_LOAD(window->limited))
		WINDOW_STORE(window->limited, now - WINDOW_CALM + WINDOW_FIRST);
	if (now - WINDOW_LOAD(window->limited) > WINDOW_CALM)
		window_open(window);
}

void window_end(struct window *window, struct window_thread *thread, const struct window_read *read, int64_t now,
		int64_t result)
{
	int64_t took = now > read->begun ? now - read->begun : 0;
	struct window_member *member = &window->members[read->member];
	struct window_base *base = &member->bases[window_size(read->bytes)];

	window_count(window, read->class, thread, UINT32_MAX);
	if (result <= 0)
		return;
	if (window->count > 1)
		window_time(member, read->class, took);
	if (WINDOW_LOAD(window->is_redundant))
		window_note(window, read->bytes, took);
	if (!window->is_adaptive)
		return;
	window_rebase(base, took, now);
	window_adapt(window, thread, read, window_known(base), now);
}
