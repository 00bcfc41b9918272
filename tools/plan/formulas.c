/* SPDX-License-Identifier: MIT */
/* Each part of the cluster can do so many files a second; the lowest of these is what the cluster does. A device's time
 * for a read is 1/IOPS + bytes/bandwidth, as the kernel's blk-iocost models it. */
#include "plan/formulas.h"

#include <math.h>

#define FORMULAS_READER (UINT64_C(1) << 20) /* bytes of memory for a read under way */

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

/* Returns the time for which a reader waits for one file, if nothing queues. */
static double formulas_wait(const struct formulas_data *data, const struct formulas_inputs *inputs, double hits)
{
	return formulas_reads_left(data, hits) * inputs->latency + formulas_bytes_left(data, hits) / inputs->bandwidth +
	       inputs->cpu_time;
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

	formulas_limits(data, inputs, members, hits, ret->limit);
	formulas_bottlenecks(ret);
	done = fmin(demand, ret->capacity);
	ret->hits = data->reads > 0 ? hits * data->small_reads / data->reads : 0;
	ret->use = done / demand;
	ret->epoch = formulas_epoch_files(data, inputs) / done;
	ret->load = done / ret->limit[FORMULAS_MEMBERS];
	/* A member that is busy passes its load on, so that none has more than it can do. */
	ret->busiest = lost > 0 ? fmin(1, ret->load * FORMULAS_NEIGHBOUR) : ret->load;
}

static double formulas_members(double demand, double time)
{
	double members = ceil(demand * time / FORMULAS_LOAD);

	return members > 1 ? members : 1;
}

/* A worker fills its cache with what it reads in the first epoch. */
static void formulas_fill(const struct formulas_data *data, const struct formulas_inputs *inputs,
			  struct formulas_plan *plan)
{
	double part = inputs->how == FORMULAS_FIXED ? data->small_bytes / inputs->workers : data->small_bytes;
	double done = fmin(plan->demand, plan->state[FORMULAS_COLD].capacity) / inputs->workers;
	double come = done * data->small_bytes / data->files;

	plan->fill_bytes = fmin(inputs->cache, part);
	plan->fill = plan->fill_bytes > 0 ? plan->fill_bytes / fmin(come, inputs->cache_write) : 0;
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
	ret->members_warm = formulas_members(ret->demand, formulas_device_time(data, inputs, hits));
	ret->memory_index = data->index;
	ret->memory_buffers = inputs->readers * FORMULAS_READER;
	from_volume = inputs->members * fmin(inputs->bandwidth, inputs->port);
	ret->boot = inputs->workers * data->index / fmin(from_volume, inputs->workers * inputs->nic);
	formulas_fill(data, inputs, ret);
}
