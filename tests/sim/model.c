/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define START      INT64_C(10000000000) /* ns: the clock of a machine that has run for a while */
#define LOOK       INT64_C(250000000)   /* ns between two looks of the daemon's watchdog, */
#define LOOK_AGAIN INT64_C(100000000)   /* and while a member is suspect */
#define SPREAD     INT64_C(1000000)     /* ns in which threads begin */
#define FILE_BYTES 8192

struct worker {
	struct route *route;
	struct sim_read *waiting, *left; /* left: at members that do not answer, by nobody waited for */
};

struct model {
	const struct model_setup *setup;
	struct model_result *result;
	struct events events;
	struct random random;
	struct worker *workers;
	struct member members[MODEL_MEMBERS];
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

static void model_free(struct sim_read **first, struct sim_read *read)
{
	model_unlink(first, read);
	free(read);
}

/* ---- one read ---- */

static uint32_t model_copy(const struct model *model, const struct sim_read *read, uint32_t copy)
{
	return (read->primary + copy % model->setup->copies) % model->setup->members;
}

static void model_issue(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];
	uint32_t members[MODEL_COPIES], copies = model->setup->copies;

	for (uint32_t i = 0; i < copies; i++)
		members[i] = model_copy(model, read, i);
	if (!read->tries && copies > 1)
		read->first = route_choose(worker->route, members, copies, now);
	read->member = model_copy(model, read, read->first + read->tries);
	route_begin(worker->route, read->member, now);
	member_submit(&model->members[read->member], &model->events, read, now);
}

static void model_arrive(struct model *model, uint32_t worker, int64_t now)
{
	struct sim_read *read = model_alloc(1, sizeof(*read));

	read->worker = worker;
	read->arrived = now;
	read->primary = random_below(&model->random, model->setup->members);
	model_link(&model->workers[worker].waiting, read);
	model_issue(model, read, now);
}

static void model_expect(struct model *model, uint32_t worker, int64_t time)
{
	events_add(&model->events, (struct event){ .time = time, .kind = EVENT_ARRIVAL, .worker = worker });
}

static bool model_counts(const struct model *model, int64_t now)
{
	return now - START >= model->setup->from;
}

static void model_finish(struct model *model, struct sim_read *read, int64_t now)
{
	uint32_t worker = read->worker;

	if (model_counts(model, now) && read->failed)
		model->result->errors++;
	else if (model_counts(model, now)) {
		model->result->files++;
		histogram_add(&model->result->took, now - read->arrived);
	}
	model_free(&model->workers[worker].waiting, read);
	if (model->setup->threads)
		model_expect(model, worker,
			     now + (int64_t)((double)model->setup->think * random_wait(&model->random)));
}

static void model_done(struct model *model, struct sim_read *read, int64_t now)
{
	if (!member_done(&model->members[read->member], &model->events, read, now))
		return;
	route_end(model->workers[read->worker].route, read->member, read->started, now,
		  read->failed ? -EIO : FILE_BYTES);
	if (model_counts(model, now))
		model->result->reads[read->member]++;
	if (read->was_left) {
		model_free(&model->workers[read->worker].left, read);
	} else if (read->failed && ++read->tries < model->setup->copies) {
		model->result->extra += model_counts(model, now);
		model_issue(model, read, now);
	} else {
		model_finish(model, read, now);
	}
}

/* ---- reads that are stuck ---- */

static bool model_is_stuck(const struct model *model, const struct sim_read *read, int64_t now)
{
	const struct route *route = model->workers[read->worker].route;

	if (now - read->started < ROUTE_SILENCE || !route_is_suspect(route, read->member, now))
		return false;
	for (uint32_t i = 0; i < model->setup->copies; i++)
		if (!route_is_suspect(route, model_copy(model, read, i), now))
			return true;
	return false;
}

static void model_leave(struct model *model, struct sim_read *read, int64_t now)
{
	struct worker *worker = &model->workers[read->worker];
	struct sim_read *again = model_alloc(1, sizeof(*again));

	again->worker = read->worker;
	again->arrived = read->arrived;
	again->primary = read->primary;
	model_unlink(&worker->waiting, read);
	model_link(&worker->left, read);
	read->was_left = true;
	model_link(&worker->waiting, again);
	model->result->extra += model_counts(model, now);
	model_issue(model, again, now);
}

static void model_look(struct model *model, uint32_t number, int64_t now)
{
	struct worker *worker = &model->workers[number];
	struct sim_read *read, *after;
	bool any = false;

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

/* ---- all of it ---- */

static double model_capacity(const struct member_setup *member)
{
	double most = member->channels * 1e9 / (double)member->service;

	return member->cap > 0 && member->cap < most ? member->cap : most;
}

static void model_open_worker(struct model *model, uint32_t number)
{
	const struct model_setup *setup = model->setup;
	struct error err = { 0 };

	if (route_new(setup->members, &model->workers[number].route, &err) < 0)
		exit(1);
	for (uint32_t i = 0; i < setup->threads; i++)
		model_expect(model, number, START + random_below(&model->random, SPREAD));
	if (!setup->threads)
		model_expect(model, number, START + (int64_t)(model->gap * random_wait(&model->random)));
	if (setup->leaves && setup->copies > 1)
		events_add(&model->events, (struct event){ .time = START + random_below(&model->random, LOOK),
							   .kind = EVENT_LOOK, .worker = number });
}

static void model_open(struct model *model, const struct model_setup *setup, struct model_result *result)
{
	double all = 0;

	*result = (struct model_result){ 0 };
	*model = (struct model){ .setup = setup, .result = result, .random = { setup->seed } };
	for (uint32_t i = 0; i < setup->members; i++) {
		struct member_setup member = setup->member[i];

		all += model_capacity(&member);
		member.from += START;
		member.to += member.to == INT64_MAX ? 0 : START;
		member_init(&model->members[i], &member, random_next(&model->random));
	}
	model->gap = setup->threads ? 0 : 1e9 * setup->workers / (setup->load * all);
	model->workers = model_alloc(setup->workers, sizeof(*model->workers));
	for (uint32_t i = 0; i < setup->workers; i++)
		model_open_worker(model, i);
}

static void model_close(struct model *model, int64_t now)
{
	for (uint32_t i = 0; i < model->setup->workers; i++) {
		struct worker *worker = &model->workers[i];

		for (; worker->waiting; model_free(&worker->waiting, worker->waiting))
			model->result->stuck += now - worker->waiting->arrived >= MODEL_STUCK;
		while (worker->left)
			model_free(&worker->left, worker->left);
		route_free(worker->route);
	}
	free(model->workers);
	events_free(&model->events);
}

void model_run(const struct model_setup *setup, struct model_result *ret)
{
	struct model model;
	struct event event;

	model_open(&model, setup, ret);
	while (events_next(&model.events, &event) && event.time - START < setup->to) {
		switch (event.kind) {
		case EVENT_ARRIVAL:
			model_arrive(&model, event.worker, event.time);
			if (!setup->threads)
				model_expect(&model, event.worker,
					     event.time + (int64_t)(model.gap * random_wait(&model.random)));
			break;
		case EVENT_DONE:
			model_done(&model, event.read, event.time);
			break;
		case EVENT_LOOK:
			model_look(&model, event.worker, event.time);
		}
	}
	model_close(&model, START + setup->to);
}
