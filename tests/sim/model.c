/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/window.h"
#include "read/cache_balance.h"

#define START      INT64_C(10000000000) /* ns: the clock of a machine that has run for a while */
#define LOOK       INT64_C(250000000)   /* ns between two looks of the daemon's watchdog, */
#define LOOK_AGAIN INT64_C(100000000)   /* and while a member is suspect */
#define SPREAD     INT64_C(1000000)     /* ns in which threads begin */

struct worker {
	struct route *route;
	struct window *window;
	enum window_class class;
	struct sim_read *waiting, *left; /* left: at members that do not answer, by nobody waited for */
	struct sim_read *held, **held_end; /* by the window, in the order in which they came, by next */
	bool asks;                       /* EVENT_TAKE will come */
	int64_t nic;                     /* when its network is free */
	struct order order;
	int64_t began;                   /* this epoch */
	bool has_tier;
	struct tier tier;
	struct cache_balance balance;            /* divides what it holds between its drive and the volume */
	struct member drive;
	int64_t filled;                  /* when the tier had MODEL_FULL of what it will; 0: it has not yet */
	int64_t lingers;                 /* until then the tier waits for more to write; INT64_MAX: it does not */
	struct sim_read *blocked;        /* by next: they have come, and wait for room in the tier's buffers */
	uint64_t files;
};

struct model {
	const struct model_setup *setup;
	struct model_result *result;
	struct events events;
	struct random random;
	struct worker *workers;
	int64_t now;
	uint32_t count; /* of workers, those in the background too */
	struct member members[MODEL_MEMBERS];
	uint32_t version;
	uint32_t *contents; /* of each file: the version that brought its content */
	double gap; /* ns between two reads of a worker that come by chance, mean */
};

static void *model_alloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		fprintf(stderr, "sim: no memory\n");
		exit(1);
	}
	return memory;
}

static bool model_counts(const struct model *model, int64_t now)
{
	return now - START >= model->setup->from;
}

/* ---- the reads of a worker ---- */

static void model_link(struct sim_read **first, struct sim_read *read)
{
	read->before = NULL;
	read->after = *first;
	if (read->after)
		read->after->before = read;
	*first = read;
}

static void model_unlink(struct sim_read **first, struct sim_read *read)
{
	if (read->before)
		read->before->after = read->after;
	else
		*first = read->after;
	if (read->after)
		read->after->before = read->before;
}

/* Frees a read, or leaves that to the last event that names it. */
static void model_free(struct sim_read **first, struct sim_read *read)
{
	model_unlink(first, read);
	read->is_over = true;
	if (!read->events)
		free(read);
}

static struct sim_read *model_new(struct model *model, uint32_t worker, int64_t now)
{
	struct sim_read *read = model_alloc(1, sizeof(*read));

	read->worker = worker;
	read->arrived = now;
	model_link(&model->workers[worker].waiting, read);
	return read;
}

static void model_expect(struct model *model, uint32_t worker, int64_t time)
{
	events_add(&model->events, (struct event){ .time = time, .kind = EVENT_ARRIVAL, .worker = worker });
}

/* ---- where a read goes ---- */

static struct member *model_member(struct model *model, const struct sim_read *read)
{
	return read->is_hit ? &model->workers[read->worker].drive : &model->members[read->member];
}

static enum cache_balance_place model_place(const struct sim_read *read)
{
	return read->is_hit ? BALANCE_CACHE : BALANCE_VOLUME;
}

static bool model_is_suspect(const struct model *model, const struct sim_read *read, int64_t now)
{
	const struct worker *worker = &model->workers[read->worker];

	return read->is_hit ? cache_balance_is_suspect(&worker->balance, now) :
			      route_is_suspect(worker->route, read->member, now);
}

static uint32_t model_copy(const struct model *model, const struct sim_read *read, uint32_t copy)
{
	return (read->primary + copy % model->setup->copies) % model->setup->members;
}

static void model_choose(struct model *model, struct sim_read *read, int64_t now)
{
	uint32_t members[MODEL_COPIES], copies = model->setup->copies;

	read->is_hit = read->may_hit && (model->setup->tier.is_alone ||
					 cache_balance_takes(&model->workers[read->worker].balance, now));
	if (read->is_hit)
		return;
	for (uint32_t i = 0; i < copies; i++)
		members[i] = model_copy(model, read, i);
	if (!read->tries && copies > 1)
		read->first = route_choose(model->workers[read->worker].route, members, copies, now);
	read->member = model_copy(model, read, read->first + read->tries);
}

/* ---- reads begin ---- */

static void model_watch(struct model *model, struct sim_read *read, int64_t now)
{
	int64_t late = window_late(model->workers[read->worker].window, model->setup->bytes);

	if (late == INT64_MAX)
		return;
	read->events++;
	events_add(&model->events, (struct event){ .time = now + late, .kind = EVENT_LATE, .worker = read->worker,
						   .read = read });
}

/* Begins a read, unless the window holds it back. Reads of the own drive and of a suspect member do not ask. */
static bool model_try(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];

	read->is_counted = !read->is_hit && !route_is_suspect(worker->route, read->member, now);
	if (read->is_counted && !window_take(worker->window, worker->class, NULL, model->setup->bytes, now))
		return false;
	if (!read->is_hit)
		route_begin(worker->route, read->member, now);
	if (worker->has_tier)
		route_begin(worker->balance.route, model_place(read), now);
	member_submit(model_member(model, read), &model->events, read, now);
	if (model->setup->hedges && model->setup->copies > 1 && !read->is_hit)
		model_watch(model, read, now);
	return true;
}

static void model_ask_later(struct model *model, uint32_t number, int64_t now)
{
	struct worker *worker = &model->workers[number];

	if (worker->asks || !worker->held)
		return;
	worker->asks = true;
	events_add(&model->events, (struct event){ .time = now + WINDOW_LOOK, .kind = EVENT_TAKE, .worker = number });
}

/* Begins held reads as far as the window allows. */
static void model_take(struct model *model, uint32_t number, int64_t now)
{
	struct worker *worker = &model->workers[number];
	struct sim_read *read, *next;

	for (read = worker->held; read; read = next) {
		next = read->next;
		model_choose(model, read, now);
		if (!model_try(model, read, now))
			break;
	}
	worker->held = read;
	if (!read)
		worker->held_end = &worker->held;
	model_ask_later(model, number, now);
}

static void model_issue(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];

	read->started = 0;
	model_choose(model, read, now);
	if ((!worker->held || read->is_hit) && model_try(model, read, now))
		return;
	read->next = NULL;
	*worker->held_end = read;
	worker->held_end = &read->next;
	model_ask_later(model, read->worker, now);
}

static void model_end_epoch(struct model *model, struct worker *worker, int64_t now)
{
	struct model_epoch *epoch = &model->result->epochs[worker->order.epoch - 1];

	epoch->rate += 1e9 * worker->order.count / (double)(now - worker->began);
	epoch->workers++;
	worker->began = now;
}

/* The id of a file that has its content from this version. */
static uint64_t model_id(const struct model *model, uint32_t file)
{
	return (uint64_t)(model->contents[file] + 1) << 32 | file;
}

/* The epoch that the worker is in; the last one that is counted stands for all later ones. */
static uint32_t model_epoch(const struct worker *worker)
{
	return worker->order.epoch < MODEL_EPOCHS ? worker->order.epoch : MODEL_EPOCHS - 1;
}

static void model_draw(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];
	bool ends;
	uint32_t file;

	read->epoch = model_epoch(worker);
	file = order_next(&worker->order, &ends);
	if (ends && worker->order.epoch <= MODEL_EPOCHS)
		model_end_epoch(model, worker, now);
	read->id = model_id(model, file);
	read->primary = file % model->setup->members;
	read->may_hit = tier_find(&worker->tier, read->id, &read->block);
}

static void model_arrive(struct model *model, uint32_t number, int64_t now)
{
	struct sim_read *read = model_new(model, number, now);

	read->primary = random_below(&model->random, model->setup->members);
	if (model->workers[number].has_tier)
		model_draw(model, read, now);
	model_issue(model, read, now);
}

/* ---- reads end ---- */

static void model_count(struct model *model, const struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];

	if (worker->class == WINDOW_BACKGROUND) {
		model->result->background += !read->failed;
		return;
	}
	if (read->failed) {
		model->result->errors++;
		return;
	}
	worker->files++;
	model->result->files++;
	model->result->hits += read->is_hit;
	histogram_add(&model->result->took, now - read->arrived);
	if (read->worker >= model->setup->heavy)
		histogram_add(&model->result->light, now - read->arrived);
}

/* Writes the next piece of what the tier has begun to write. */
static void model_write(struct model *model, uint32_t number)
{
	struct worker *worker = &model->workers[number];
	struct sim_read *write = model_alloc(1, sizeof(*write));
	uint64_t left = worker->tier.left;

	write->worker = number;
	write->writes = left < MEMBER_PIECE ? (uint32_t)left : MEMBER_PIECE;
	member_write(&worker->drive, &model->events, write, model->now);
}

/* The tier's writer does what it can now: what is full at once, the rest when it has waited. */
static void model_fill(struct model *model, uint32_t number)
{
	struct worker *worker = &model->workers[number];
	struct tier *tier = &worker->tier;

	if (tier->left)
		return;
	while (!tier->left && tier_has_more(tier) && (tier_is_due(tier) || worker->lingers <= model->now))
		tier_begin(tier, model->now);
	if (tier->left || !tier_has_more(tier))
		worker->lingers = INT64_MAX;
	if (tier->left) {
		model_write(model, number);
	} else if (tier_has_more(tier) && worker->lingers == INT64_MAX) {
		worker->lingers = model->now + TIER_LINGER;
		events_add(&model->events, (struct event){ .time = worker->lingers, .kind = EVENT_FILL,
							   .worker = number });
	}
}

static void model_count_epoch(struct model *model, const struct sim_read *read)
{
	struct model_epoch *epoch = &model->result->epochs[read->epoch];

	epoch->files++;
	epoch->hits += read->is_hit;
}

/* False: the tier has no room, and the reader waits for it. */
static bool model_keep(struct model *model, struct sim_read *read)
{
	struct worker *worker = &model->workers[read->worker];
	uint64_t written = worker->tier.written;

	if (!read->is_hit && !tier_add(&worker->tier, read->id, model->now)) {
		read->next = worker->blocked;
		worker->blocked = read;
		return false;
	}
	model->result->epochs[read->epoch].written += worker->tier.written - written;
	model_fill(model, read->worker);
	model_count_epoch(model, read);
	return true;
}

static void model_finish(struct model *model, struct sim_read *read, int64_t now)
{
	uint32_t number = read->worker;
	struct worker *worker = &model->workers[number];

	if (worker->has_tier && !read->failed && !model_keep(model, read))
		return;
	if (model_counts(model, now))
		model_count(model, read, now);
	model_free(&worker->waiting, read);
	if (model->setup->threads || worker->class == WINDOW_BACKGROUND)
		model_expect(model, number,
			     now + (int64_t)((double)model->setup->think * random_wait(&model->random)));
}

static void model_tell(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];
	int64_t result = read->failed ? -EIO : (int64_t)model->setup->bytes;
	struct window_read counted = { worker->class, read->member, model->setup->bytes, read->started, 0 };

	if (!read->is_hit)
		route_end(worker->route, read->member, read->started, now, result);
	if (worker->has_tier)
		route_end(worker->balance.route, model_place(read), read->started, now, result);
	if (read->is_hit && !read->failed)
		cache_balance_learn(&worker->balance,
				    now - read->started > cache_balance_limit(&worker->balance, now), read->started,
				    now);
	if (read->is_counted)
		window_end(worker->window, NULL, &counted, now, result);
	if (model_counts(model, now) && !read->is_hit)
		model->result->reads[read->member]++;
}

/* Whether the tier had something else at the place, or failed: then the volume is read, as if there were no tier. */
static bool model_is_miss(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];

	if (!read->is_hit || (!read->failed && tier_hit(&worker->tier, read->id, read->block, now)))
		return false;
	read->may_hit = false;
	return true;
}

static void model_come(struct model *model, struct sim_read *read, int64_t now)
{
	uint32_t number = read->worker;

	model_tell(model, read, now);
	if (read->was_left) {
		model_free(&model->workers[number].left, read);
	} else if (model_is_miss(model, read, now)) {
		model_issue(model, read, now);
	} else if (read->failed && ++read->tries < model->setup->copies) {
		model->result->extra += model_counts(model, now);
		model_issue(model, read, now);
	} else {
		model_finish(model, read, now);
	}
	model_take(model, number, now);
}

static void model_note_full(struct worker *worker, int64_t now)
{
	const struct tier *tier = &worker->tier;
	uint64_t room = (uint64_t)tier->slots.count * tier->per_slot, own = worker->order.among;

	if (!worker->filled && (double)tier->filled >= MODEL_FULL * (double)(room < own ? room : own))
		worker->filled = now;
}

/* A piece is written. */
static void model_wrote(struct model *model, struct sim_read *write)
{
	uint32_t number = write->worker;
	struct worker *worker = &model->workers[number];
	struct sim_read *read = worker->blocked, *next;

	tier_wrote(&worker->tier, write->writes);
	model->result->epochs[model_epoch(worker)].written += write->writes;
	free(write);
	model_note_full(worker, model->now);
	if (worker->tier.left)
		model_write(model, number);
	else
		model_fill(model, number);
	for (worker->blocked = NULL; read; read = next) {
		next = read->next;
		model_finish(model, read, model->now);
	}
}

static void model_done(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];

	read->events--;
	if (read->writes) {
		model_wrote(model, read);
		return;
	}
	if (!member_done(model_member(model, read), &model->events, read, now))
		return;
	if (!model->setup->comes || read->is_hit) {
		model_come(model, read, now);
		return;
	}
	worker->nic = (worker->nic > now ? worker->nic : now) + model->setup->comes;
	read->events++;
	events_add(&model->events, (struct event){ .time = worker->nic, .kind = EVENT_COME, .worker = read->worker,
						   .read = read });
}

/* ---- reads that are stuck or late ---- */

static bool model_has_other(const struct model *model, const struct sim_read *read, int64_t now)
{
	const struct route *route = model->workers[read->worker].route;

	for (uint32_t i = 0; i < model->setup->copies; i++) {
		uint32_t copy = model_copy(model, read, i);

		if ((read->is_hit || copy != read->member) && !route_is_suspect(route, copy, now))
			return true;
	}
	return false;
}

static bool model_is_stuck(const struct model *model, const struct sim_read *read, int64_t now)
{
	return read->started && now - read->started >= ROUTE_SILENCE && model_is_suspect(model, read, now) &&
	       model_has_other(model, read, now);
}

/* Leaves the read to its member, and reads the file again. */
static void model_leave(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];
	struct sim_read *again = model_new(model, read->worker, read->arrived);

	again->primary = read->primary;
	again->epoch = read->epoch;
	again->id = read->id;
	again->block = read->block;
	again->may_hit = read->may_hit;
	model_unlink(&worker->waiting, read);
	model_link(&worker->left, read);
	read->was_left = true;
	if (read->is_counted)
		window_drop(worker->window, worker->class, NULL);
	read->is_counted = false;
	model->result->extra += model_counts(model, now);
	model_issue(model, again, now);
}

static void model_look(struct model *model, uint32_t number, int64_t now)
{
	struct worker *worker = &model->workers[number];
	struct sim_read *read, *after;
	bool any = worker->has_tier && cache_balance_is_suspect(&worker->balance, now);

	for (uint32_t i = 0; i < model->setup->members; i++)
		any |= route_is_suspect(worker->route, i, now);
	for (read = any ? worker->waiting : NULL; read; read = after) {
		after = read->after;
		if (model_is_stuck(model, read, now))
			model_leave(model, read, now);
	}
	events_add(&model->events, (struct event){ .time = now + (any ? LOOK_AGAIN : LOOK), .kind = EVENT_LOOK,
						   .worker = number });
}

static void model_late(struct model *model, struct sim_read *read, int64_t now)
{
	struct window *window = model->workers[read->worker].window;

	read->events--;
	if (read->is_over) {
		if (!read->events)
			free(read);
		return;
	}
	if (read->was_left || !read->started || !model_has_other(model, read, now) ||
	    window_late(window, model->setup->bytes) > now - read->started || !window_hedge(window))
		return;
	model->result->hedges += model_counts(model, now);
	model_leave(model, read, now);
}

/* ---- versions ---- */

/* A new version, whose files are new contents in part. */
static void model_change(struct model *model)
{
	const struct model_setup *setup = model->setup;

	model->version++;
	for (uint32_t i = 0; i < setup->order.files; i++)
		if (random_below(&model->random, UINT32_MAX) < setup->changed * UINT32_MAX)
			model->contents[i] = model->version;
	events_add(&model->events, (struct event){ .time = model->now + setup->changes, .kind = EVENT_CHANGE });
}

/* ---- all of it ---- */

static double model_capacity(const struct member_setup *member)
{
	double most = member->channels * 1e9 / (double)member->service;

	return member->cap > 0 && member->cap < most ? member->cap : most;
}

static uint32_t model_threads(const struct model_setup *setup, uint32_t number)
{
	if (number >= setup->workers)
		return setup->behind;
	return setup->threads * (number < setup->heavy ? setup->heavier : 1);
}

/* Puts files of its own into the worker's tier, in an order of chance. */
static void model_fill_up(struct model *model, struct worker *worker, uint32_t number)
{
	struct order_setup any = model->setup->order;
	struct order order;
	bool ends = false;

	any.seed = ~any.seed;
	if (any.kind == ORDER_SHARD)
		any.kind = ORDER_ALL;
	order_init(&order, &any, number);
	while (!ends)
		tier_put(&worker->tier, model_id(model, order_next(&order, &ends)), START);
}

static void model_equip_tier(struct model *model, struct worker *worker, uint32_t number)
{
	const struct model_setup *setup = model->setup;
	struct error err = { 0 };

	worker->has_tier = true;
	worker->lingers = INT64_MAX;
	worker->began = START;
	order_init(&worker->order, &setup->order, number);
	tier_init(&worker->tier, &setup->tier, START);
	member_init(&worker->drive, &setup->drive, setup->seed + number);
	if (cache_balance_open(&worker->balance, &err) < 0)
		exit(1);
	if (setup->tier.begins_full)
		model_fill_up(model, worker, number);
}

static void model_equip(struct model *model, struct worker *worker, uint32_t number)
{
	const struct model_setup *setup = model->setup;
	struct window_setup window = { .members = setup->members, .is_adaptive = setup->windows };
	struct error err = { 0 };

	worker->class = number >= setup->workers ? WINDOW_BACKGROUND : WINDOW_DEMAND;
	worker->held_end = &worker->held;
	if (route_new(setup->members, &worker->route, &err) < 0 || window_new(&window, &worker->window, &err) < 0)
		exit(1);
	if (setup->hedges && setup->copies > 1)
		window_allow_hedges(worker->window);
	if (worker->class == WINDOW_DEMAND && setup->order.files)
		model_equip_tier(model, worker, number);
}

static void model_open_worker(struct model *model, uint32_t number)
{
	const struct model_setup *setup = model->setup;
	uint32_t threads = model_threads(setup, number);

	model_equip(model, &model->workers[number], number);
	for (uint32_t i = 0; i < threads; i++)
		model_expect(model, number, START + random_below(&model->random, SPREAD));
	if (!threads)
		model_expect(model, number, START + (int64_t)(model->gap * random_wait(&model->random)));
	if (setup->leaves && (setup->copies > 1 || setup->order.files))
		events_add(&model->events, (struct event){ .time = START + random_below(&model->random, LOOK),
							   .kind = EVENT_LOOK, .worker = number });
}

static void model_open(struct model *model, const struct model_setup *setup, struct model_result *result)
{
	double all = 0;

	*result = (struct model_result){ 0 };
	*model = (struct model){ .setup = setup, .result = result, .random = { setup->seed },
				 .count = setup->workers + setup->background };
	for (uint32_t i = 0; i < setup->members; i++) {
		struct member_setup member = setup->member[i];

		all += model_capacity(&member);
		member.from += START;
		member.to += member.to == INT64_MAX ? 0 : START;
		member_init(&model->members[i], &member, random_next(&model->random));
	}
	model->gap = setup->threads ? 0 : 1e9 * setup->workers / (setup->load * all);
	model->contents = model_alloc(setup->order.files + 1, sizeof(*model->contents));
	if (setup->changes)
		events_add(&model->events, (struct event){ .time = START + setup->changes, .kind = EVENT_CHANGE });
	model->workers = model_alloc(model->count, sizeof(*model->workers));
	for (uint32_t i = 0; i < model->count; i++)
		model_open_worker(model, i);
}

/* Jain's index: 1 if all workers read as many files, 1/n if one of n reads them all. */
static double model_fairness(const struct model *model)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < model->setup->workers; i++) {
		double files = (double)model->workers[i].files;

		sum += files;
		squares += files * files;
	}
	return squares > 0 ? sum * sum / (squares * model->setup->workers) : 0;
}

static void model_close_worker(struct model *model, struct worker *worker, int64_t now)
{
	for (; worker->waiting; model_free(&worker->waiting, worker->waiting))
		model->result->stuck += now - worker->waiting->arrived >= MODEL_STUCK;
	while (worker->left)
		model_free(&worker->left, worker->left);
	if (worker->has_tier) {
		model->result->held += tier_fullness(&worker->tier) / model->setup->workers;
		model->result->fills += worker->filled ? (double)(worker->filled - START) / model->setup->workers :
							 INFINITY;
		model->result->dropped += worker->tier.dropped;
		model->result->wrong += worker->tier.wrong;
		model->result->written += worker->tier.written;
		tier_free(&worker->tier);
	}
	cache_balance_close(&worker->balance);
	window_free(worker->window);
	route_free(worker->route);
}

static void model_forget(const struct event *event)
{
	struct sim_read *read = event->read;

	if (read && !--read->events && (read->is_over || read->writes))
		free(read);
}

static void model_close(struct model *model, int64_t now)
{
	struct event event;

	model->result->fairness = model_fairness(model);
	for (uint32_t i = 0; i < model->count; i++)
		model_close_worker(model, &model->workers[i], now);
	while (events_next(&model->events, &event))
		model_forget(&event);
	free(model->workers);
	free(model->contents);
	events_free(&model->events);
}

static void model_arrival(struct model *model, uint32_t worker, int64_t now)
{
	model_arrive(model, worker, now);
	if (!model_threads(model->setup, worker))
		model_expect(model, worker, now + (int64_t)(model->gap * random_wait(&model->random)));
}

static void model_step(struct model *model, const struct event *event)
{
	model->now = event->time;
	switch (event->kind) {
	case EVENT_ARRIVAL:
		model_arrival(model, event->worker, event->time);
		break;
	case EVENT_DONE:
		model_done(model, event->read, event->time);
		break;
	case EVENT_COME:
		((struct sim_read *)event->read)->events--;
		model_come(model, event->read, event->time);
		break;
	case EVENT_LOOK:
		model_look(model, event->worker, event->time);
		break;
	case EVENT_LATE:
		model_late(model, event->read, event->time);
		break;
	case EVENT_TAKE:
		model->workers[event->worker].asks = false;
		model_take(model, event->worker, event->time);
		break;
	case EVENT_FILL:
		model_fill(model, event->worker);
		break;
	case EVENT_CHANGE:
		model_change(model);
	}
}

void model_run(const struct model_setup *setup, struct model_result *ret)
{
	struct event event = { 0 };
	struct model model;

	model_open(&model, setup, ret);
	while (events_next(&model.events, &event) && event.time - START < setup->to)
		model_step(&model, &event);
	model_forget(&event);
	model_close(&model, START + setup->to);
}
