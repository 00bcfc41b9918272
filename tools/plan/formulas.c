/* SPDX-License-Identifier: MIT */
/* Each part of the cluster can do so many files a second; the cluster does the lowest of these. A device's time for a
 * read is 1/IOPS + bytes/bandwidth, as the kernel's blk-iocost models it. */
#include "plan/formulas.h"

#include <math.h>

#define FORMULAS_READER (UINT64_C(1) << 20) /* bytes of memory for a read under way */
#define FORMULAS_LEGS   200                 /* steps in which a worker has read the data set, at most */
#define FORMULAS_HALVES 50u                 /* steps of a search, each halves the rest */
#define FORMULAS_STEPS  10000u              /* after which the rest comes as the last did */

/* Reads and bytes of the volume for one file, on average. hits: the part of small files that the caches hold. */
static double formulas_reads_left(const struct formulas_data *data, double hits)
{
	return (data->reads - hits * data->small_reads) / data->files;
}

static double formulas_bytes_left(const struct formulas_data *data, double hits)
{
	return (data->bytes - hits * data->small_bytes) / data->files;
}

double formulas_device_time(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits)
{
	return formulas_reads_left(data, hits) / inputs->iops + formulas_bytes_left(data, hits) / inputs->bandwidth;
}

/* Returns the part of small files that the caches answer, once they are full. Nothing is ever evicted: a worker that
 * reads every file, or a part that is drawn anew, hits what its own cache holds; one that reads the same part each
 * time needs to hold only that. */
static double formulas_hits(const struct formulas_data *data, const struct formulas_inputs *inputs)
{
	double held = inputs->cache * (inputs->how == FORMULAS_FIXED ? inputs->workers : 1);

	return data->small_bytes > 0 ? fmin(1, held / data->small_bytes) : 0;
}

/* Returns how often a second something can be done that takes this time; INFINITY: it takes none. */
static double formulas_rate(double time)
{
	return time > 0 ? 1 / time : INFINITY;
}

static double formulas_cache_limit(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits)
{
	double time = hits * (data->small_reads / inputs->cache_iops + data->small_bytes / inputs->cache_bandwidth);

	return inputs->cache > 0 ? inputs->workers * formulas_rate(time / data->files) : INFINITY;
}

/* Returns the time for which a reader waits for one file, if nothing queues. A read takes as long wherever it goes: a
 * drive is most of it. */
static double formulas_wait(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits)
{
	double from_cache = hits > 0 ? hits * data->small_bytes / data->files / inputs->cache_bandwidth : 0;

	return data->reads / data->files * inputs->latency + formulas_bytes_left(data, hits) / inputs->bandwidth +
	       from_cache + inputs->cpu_time;
}

static void formulas_limits(const struct formulas_data *data, const struct formulas_inputs *inputs, double members,
			    double hits, double limit[FORMULAS_PARTS])
{
	double bytes = formulas_bytes_left(data, hits);

	limit[FORMULAS_MEMBERS] = members * formulas_rate(formulas_device_time(data, inputs, hits));
	limit[FORMULAS_PORTS] = members * formulas_rate(bytes / inputs->port);
	limit[FORMULAS_NICS] = inputs->workers * formulas_rate(bytes / inputs->nic);
	limit[FORMULAS_CPUS] = inputs->workers * inputs->cpus * formulas_rate(inputs->cpu_time);
	limit[FORMULAS_READERS] = inputs->workers * inputs->readers * formulas_rate(formulas_wait(data, inputs, hits));
	limit[FORMULAS_CACHES] = formulas_cache_limit(data, inputs, hits);
}

/* Whether the caches can answer this part of the small files, for as many files a second as all else allows. */
static bool formulas_keeps_up(const struct formulas_data *data, const struct formulas_inputs *inputs, double members,
			      double hits, double demand)
{
	double limit[FORMULAS_PARTS], least = demand;

	formulas_limits(data, inputs, members, hits, limit);
	for (enum formulas_part i = 0; i < FORMULAS_CACHES; i++)
		least = fmin(least, limit[i]);
	return limit[FORMULAS_CACHES] >= least;
}

/* Returns the part that the caches do answer: where their drives cannot keep up, the volume serves the rest, and both
 * work at their limits. */
static double formulas_answered(const struct formulas_data *data, const struct formulas_inputs *inputs, double members,
				double hits, double demand)
{
	double low = 0, high = hits, middle;

	if (formulas_keeps_up(data, inputs, members, hits, demand))
		return hits;
	for (unsigned i = 0; i < FORMULAS_HALVES; i++) {
		middle = (low + high) / 2;
		*(formulas_keeps_up(data, inputs, members, middle, demand) ? &low : &high) = middle;
	}
	return low;
}

static void formulas_bottlenecks(struct formulas_state *state)
{
	state->first = state->second = FORMULAS_PARTS;
	for (enum formulas_part i = 0; i < FORMULAS_PARTS; i++) {
		if (state->first == FORMULAS_PARTS || state->limit[i] < state->limit[state->first]) {
			state->second = state->first;
			state->first = i;
		} else if (state->second == FORMULAS_PARTS || state->limit[i] < state->limit[state->second]) {
			state->second = i;
		}
	}
	state->capacity = state->limit[state->first];
}

/* Returns how many files all workers together read in an epoch. */
static double formulas_epoch_files(const struct formulas_data *data, const struct formulas_inputs *inputs)
{
	return data->files * (inputs->how == FORMULAS_ALL ? inputs->workers : 1);
}

static void formulas_state(const struct formulas_data *data, const struct formulas_inputs *inputs, double lost,
			   double hits, double demand, struct formulas_state *ret)
{
	double members = inputs->members - lost, done;

	formulas_limits(data, inputs, members, formulas_answered(data, inputs, members, hits, INFINITY), ret->limit);
	formulas_bottlenecks(ret);
	done = fmin(demand, ret->capacity);
	hits = formulas_answered(data, inputs, members, hits, demand);
	ret->hits = data->reads > 0 ? hits * data->small_reads / data->reads : 0;
	ret->use = done / demand;
	ret->epoch = formulas_epoch_files(data, inputs) / done;
	ret->load = done * formulas_device_time(data, inputs, hits) / members;
	/* A member that is busy passes its load on, so that none has more than it can do. */
	ret->busiest = lost > 0 ? fmin(1, ret->load * FORMULAS_NEIGHBOUR) : ret->load;
}

static double formulas_members(double demand, double time)
{
	double members = ceil(demand * time / FORMULAS_LOAD);

	return members > 1 ? members : 1;
}

/* Returns the part of the small files that a worker may ever read. */
static double formulas_own(const struct formulas_inputs *inputs)
{
	return inputs->how == FORMULAS_FIXED ? 1 / inputs->workers : 1;
}

/* Returns the part of the small files that a worker reads before it may read one again: an epoch, but no less than is
 * worth a step of formulas_fill_time(). */
static double formulas_leg(const struct formulas_inputs *inputs)
{
	return inputs->how == FORMULAS_ALL ? 1 : fmax(1 / inputs->workers, 1.0 / FORMULAS_LEGS);
}

/* Returns the files a second that all workers read when the caches hold this part of the small files. */
static double formulas_done(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits,
			    double demand)
{
	struct formulas_state state;

	formulas_state(data, inputs, 0, hits, demand, &state);
	return fmin(demand, state.capacity);
}

/* Returns the seconds until a worker's cache holds most of its final contents. In an epoch, only reads that missed the
 * cache at its beginning are new. */
static double formulas_fill_time(const struct formulas_data *data, const struct formulas_inputs *inputs, double demand,
				 double bytes)
{
	double own = data->small_bytes * formulas_own(inputs), wanted = bytes * FORMULAS_FULL;
	double leg = data->small_bytes * fmin(formulas_leg(inputs), formulas_own(inputs)), held = 0, time = 0;

	for (unsigned i = 0; held < wanted; i++) {
		double hits = held / own;
		double files = formulas_done(data, inputs, hits, demand) / inputs->workers;
		double comes = files * data->small_bytes / data->files;
		double fills = fmin(comes * (1 - hits), inputs->cache_write);
		double most = i < FORMULAS_STEPS ? leg / comes : INFINITY, left = (wanted - held) / fills;

		time += fmin(left, most);
		held = left <= most ? wanted : held + fills * most;
	}
	return time;
}

static void formulas_fill(const struct formulas_data *data, const struct formulas_inputs *inputs,
			  struct formulas_plan *plan)
{
	plan->fill_bytes = fmin(inputs->cache, data->small_bytes * formulas_own(inputs));
	plan->fill = formulas_fill_time(data, inputs, plan->demand, plan->fill_bytes);
	plan->memory_map = data->small_bytes > 0 ?
				   plan->fill_bytes / data->small_bytes * data->small_reads * FORMULAS_MAP : 0;
}

void formulas_plan(const struct formulas_data *data, const struct formulas_inputs *inputs, struct formulas_plan *ret)
{
	double hits = formulas_hits(data, inputs), from_volume;

	*ret = (struct formulas_plan){ .demand = inputs->workers * inputs->gpus * inputs->rate,
				       .has_warm = inputs->cache > 0,
				       .has_lost = inputs->has_copies && inputs->members > 1 };
	ret->demand_bytes = ret->demand * formulas_bytes_left(data, 0);
	for (unsigned i = 0; i < FORMULAS_CONDITIONS; i++)
		formulas_state(data, inputs, ret->has_lost && i >= FORMULAS_COLD_LOST, i % 2 ? hits : 0, ret->demand,
			       &ret->state[i]);
	ret->members_cold = formulas_members(ret->demand, formulas_device_time(data, inputs, 0));
	/* Reads that the drives of the caches cannot make are left to the members. */
	hits = fmin(hits, hits * formulas_cache_limit(data, inputs, hits) / ret->demand);
	ret->members_warm = formulas_members(ret->demand, formulas_device_time(data, inputs, hits));
	ret->memory_index = data->index;
	ret->memory_buffers = inputs->readers * FORMULAS_READER;
	from_volume = inputs->members * fmin(inputs->bandwidth, inputs->port);
	ret->boot = inputs->workers * data->index / fmin(from_volume, inputs->workers * inputs->nic);
	formulas_fill(data, inputs, ret);
}
