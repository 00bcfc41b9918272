/* SPDX-License-Identifier: MIT */
/* Prints a column for each condition of the cluster, and the same figures as JSON. */
#include "plan/sheet.h"

#include <math.h>
#include <stddef.h>

#include "base/text/format.h"
#include "base/text/json.h"
#include "grid.h"
#include "plan/rate.h"
#include "text.h"

#define SHEET_FIELD(FIELD) offsetof(struct formulas_state, FIELD)

static const char *const sheet_conditions[FORMULAS_CONDITIONS] = { "cold", "warm", "cold_lost", "warm_lost" };

const char *sheet_part(enum formulas_part part)
{
	static const char *const names[] = { "members", "ports", "networks", "cpus", "readers", "caches" };

	return names[part];
}

const char *sheet_how(enum formulas_reads how)
{
	static const char *const names[] = { "all", "shard", "fixed" };

	return names[how];
}

/* Returns whether the cluster can be in this condition. */
static bool sheet_has(const struct sheet *sheet, unsigned condition)
{
	return (sheet->plan.has_warm || condition % 2 == 0) &&
	       (sheet->plan.has_lost || condition < FORMULAS_COLD_LOST);
}

/* ---- text ---- */

static void sheet_head(const struct sheet *sheet)
{
	const struct formulas_inputs *inputs = &sheet->inputs;
	char a[RATE_TEXT_SIZE], b[RATE_TEXT_SIZE], size[SIZE_TEXT_SIZE];

	text_print("volume       '%s'\n", sheet->subject->volume->path);
	subject_text(sheet->subject, "version");
	printf("files        %.0f; each takes %s and %.3f reads of the volume\n", sheet->data.files,
	       format_size((uint64_t)(sheet->data.bytes / sheet->data.files), size),
	       sheet->data.reads / sheet->data.files);
	printf("demand       %s files/s", rate_format_number(sheet->plan.demand, a));
	printf(", %s: %.0f workers, %.0f GPU%s each, %s files/s for each GPU\n",
	       rate_format(sheet->plan.demand_bytes, a), inputs->workers, inputs->gpus,
	       inputs->gpus == 1 ? "" : "s", rate_format_number(inputs->rate, b));
	printf("members      %.0f, %s reads/s and %s each%s, %u cop%s\n", inputs->members,
	       rate_format_number(inputs->iops, a), rate_format(inputs->bandwidth, b),
	       sheet->is_measured ? " (measured)" : "", sheet->copies, sheet->copies == 1 ? "y" : "ies");
}

/* ---- the table ---- */

static void sheet_number(struct grid *grid, double number)
{
	char text[RATE_TEXT_SIZE];

	grid_cell(grid, "%s", isinf(number) ? "no limit" : rate_format_number(number, text));
}

static void sheet_percent(struct grid *grid, double part)
{
	grid_cell(grid, "%.1f %%", 100 * part);
}

static void sheet_epoch(struct grid *grid, double epoch)
{
	char text[TEXT_SPAN_SIZE];

	if (epoch < 60)
		grid_cell(grid, "%.1f s", epoch);
	else
		grid_cell(grid, "%s", text_span(epoch, text));
}

/* Prints a field of each state. */
static void sheet_row(const struct sheet *sheet, struct grid *grid, const char *name, size_t field,
		      void (*cell)(struct grid *grid, double value))
{
	grid_cell(grid, "%s", name);
	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
		if (sheet_has(sheet, i))
			cell(grid, *(const double *)(const void *)((const char *)&sheet->plan.state[i] + field));
}

static void sheet_part_row(const struct sheet *sheet, struct grid *grid, const char *name, bool is_second)
{
	grid_cell(grid, "%s", name);
	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
		if (sheet_has(sheet, i))
			grid_cell(grid, "%s", sheet_part(is_second ? sheet->plan.state[i].second :
								     sheet->plan.state[i].first));
}

static void sheet_limits(const struct sheet *sheet, struct grid *grid)
{
	for (unsigned part = 0; part < FORMULAS_PARTS; part++) {
		grid_cell(grid, "  %s", sheet_part(part));
		for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
			if (sheet_has(sheet, i))
				sheet_number(grid, sheet->plan.state[i].limit[part]);
	}
}

static int sheet_table(const struct sheet *sheet, struct error *err)
{
	static const char *const titles[] = { "COLD", "WARM", "COLD, ONE LOST", "WARM, ONE LOST" };
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_LEFT, "");
	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
		if (sheet_has(sheet, i))
			grid_columns(grid, GRID_RIGHT, titles[i]);
	sheet_row(sheet, grid, "hits", SHEET_FIELD(hits), sheet_percent);
	sheet_row(sheet, grid, "files/s at most", SHEET_FIELD(capacity), sheet_number);
	sheet_limits(sheet, grid);
	sheet_part_row(sheet, grid, "limit", false);
	sheet_part_row(sheet, grid, "second limit", true);
	sheet_row(sheet, grid, "accelerators busy", SHEET_FIELD(use), sheet_percent);
	sheet_row(sheet, grid, "epoch", SHEET_FIELD(epoch), sheet_epoch);
	sheet_row(sheet, grid, "load of a member", SHEET_FIELD(load), sheet_percent);
	sheet_row(sheet, grid, "busiest member", SHEET_FIELD(busiest), sheet_percent);
	putchar('\n');
	return grid_print(grid, 0, err);
}

/* ---- lines below it ---- */

static void sheet_needs(const struct sheet *sheet)
{
	const struct formulas_plan *plan = &sheet->plan;
	char a[SIZE_TEXT_SIZE], b[SIZE_TEXT_SIZE], c[SIZE_TEXT_SIZE];
	double spare = plan->has_lost;

	printf("\nneeded       members: %.0f at a load of %.0f %%", plan->members_cold + spare, 100 * FORMULAS_LOAD);
	if (plan->has_warm)
		printf(", %.0f once the caches are full", plan->members_warm + spare);
	printf("%s\n", spare > 0 ? ", one of them may be lost" : "");
	printf("memory       %s a worker: index %s, buffers %s", format_size((uint64_t)(plan->memory_index +
	       plan->memory_map + plan->memory_buffers), a), format_size((uint64_t)plan->memory_index, b),
	       format_size((uint64_t)plan->memory_buffers, c));
	if (plan->has_warm)
		printf(", map of the cache %s", format_size((uint64_t)plan->memory_map, a));
	printf("\nboot         %.1f s until all workers have the index; 0 with a copy of it (cache=)\n", plan->boot);
	if (plan->has_warm)
		printf("cache        %s a worker is written for each new data set, %.0f %% of it within %s\n",
		       format_size((uint64_t)plan->fill_bytes, a), 100 * FORMULAS_FULL,
		       text_span(plan->fill, (char[TEXT_SPAN_SIZE]){ 0 }));
}

static void sheet_remarks(const struct sheet *sheet)
{
	double most = 0;

	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
		if (sheet_has(sheet, i))
			most = fmax(most, sheet->plan.state[i].busiest);
	if (most > FORMULAS_LOAD)
		printf("tails        above a load of %.0f %% reads queue: nothing is promised of the slowest ones\n",
		       100 * FORMULAS_LOAD);
	for (unsigned i = 0; i < sheet->assumptions.count; i++) {
		const struct assumed *assumed = &sheet->assumptions.list[i];

		text_print("%-13s%s %s: %s\n", i ? "" : "assumed", assumed->option, assumed->value, assumed->why);
	}
}

int sheet_text(const struct sheet *sheet, struct error *err)
{
	int r;

	sheet_head(sheet);
	r = sheet_table(sheet, err);
	if (r < 0)
		return r;
	sheet_needs(sheet);
	sheet_remarks(sheet);
	return 0;
}

/* ---- JSON ---- */

static void sheet_json_limit(struct json *json, const char *key, double limit)
{
	if (isinf(limit))
		json_null(json, key);
	else
		json_real(json, key, limit);
}

static void sheet_json_state(struct json *json, const char *key, const struct formulas_state *state)
{
	json_begin_object(json, key);
	json_real(json, "hits", state->hits);
	sheet_json_limit(json, "files_per_s", state->capacity);
	json_begin_object(json, "limits");
	for (unsigned i = 0; i < FORMULAS_PARTS; i++)
		sheet_json_limit(json, sheet_part(i), state->limit[i]);
	json_end_object(json);
	json_string(json, "first", sheet_part(state->first));
	json_string(json, "second", sheet_part(state->second));
	json_real(json, "accelerator_use", state->use);
	json_real(json, "epoch_s", state->epoch);
	json_real(json, "load", state->load);
	json_real(json, "busiest", state->busiest);
	json_end_object(json);
}

static void sheet_json_data(struct json *json, const struct formulas_data *data)
{
	json_begin_object(json, "data");
	json_number(json, "files", (uint64_t)data->files);
	json_number(json, "reads", (uint64_t)data->reads);
	json_number(json, "read_bytes", (uint64_t)data->bytes);
	json_number(json, "small_reads", (uint64_t)data->small_reads);
	json_number(json, "small_bytes", (uint64_t)data->small_bytes);
	json_number(json, "index_bytes", (uint64_t)data->index);
	json_end_object(json);
}

static void sheet_json_inputs(struct json *json, const struct sheet *sheet)
{
	const struct formulas_inputs *inputs = &sheet->inputs;

	json_begin_object(json, "inputs");
	json_real(json, "workers", inputs->workers);
	json_real(json, "gpus", inputs->gpus);
	json_real(json, "rate", inputs->rate);
	json_string(json, "reads", sheet_how(inputs->how));
	json_real(json, "members", inputs->members);
	json_number(json, "copies", sheet->copies);
	json_real(json, "device_reads_per_s", inputs->iops);
	sheet_json_limit(json, "device_bytes_per_s", inputs->bandwidth);
	json_bool(json, "measured", sheet->is_measured);
	json_real(json, "port_bytes_per_s", inputs->port);
	json_real(json, "nic_bytes_per_s", inputs->nic);
	json_real(json, "latency_us", inputs->latency * 1e6);
	json_real(json, "readers", inputs->readers);
	json_real(json, "cpus", inputs->cpus);
	json_real(json, "cpu_us", inputs->cpu_time * 1e6);
	json_number(json, "cache_bytes", (uint64_t)inputs->cache);
	json_end_object(json);
}

static void sheet_json_assumed(struct json *json, const struct assumptions *assumptions)
{
	json_begin_array(json, "assumed");
	for (unsigned i = 0; i < assumptions->count; i++) {
		json_begin_object(json, NULL);
		json_string(json, "option", assumptions->list[i].option);
		json_string(json, "value", assumptions->list[i].value);
		json_string(json, "why", assumptions->list[i].why);
		json_end_object(json);
	}
	json_end_array(json);
}

static void sheet_json_states(struct json *json, const struct sheet *sheet)
{
	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++) {
		if (sheet_has(sheet, i))
			sheet_json_state(json, sheet_conditions[i], &sheet->plan.state[i]);
		else
			json_null(json, sheet_conditions[i]);
	}
}

void sheet_json(const struct sheet *sheet)
{
	const struct formulas_plan *plan = &sheet->plan;
	struct json json = { .out = stdout };
	double spare = plan->has_lost;

	json_begin_object(&json, NULL);
	json_string(&json, "volume", sheet->subject->volume->path);
	subject_json(sheet->subject, &json, "version");
	sheet_json_data(&json, &sheet->data);
	sheet_json_inputs(&json, sheet);
	sheet_json_assumed(&json, &sheet->assumptions);
	served_json(&sheet->served, &json);
	json_real(&json, "demand_files_per_s", plan->demand);
	json_real(&json, "demand_bytes_per_s", plan->demand_bytes);
	sheet_json_states(&json, sheet);
	json_number(&json, "members_needed", (uint64_t)(plan->members_cold + spare));
	json_number(&json, "members_needed_warm", (uint64_t)(plan->members_warm + spare));
	json_number(&json, "memory_bytes", (uint64_t)(plan->memory_index + plan->memory_map + plan->memory_buffers));
	json_real(&json, "boot_s", plan->boot);
	json_number(&json, "cache_fill_bytes", (uint64_t)plan->fill_bytes);
	json_real(&json, "cache_fill_s", plan->fill);
	json_end_object(&json);
	putchar('\n');
}
