/* SPDX-License-Identifier: MIT */
/* The command line of the simulation, and what came of it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/program/options.h"
#include "base/text/json.h"
#include "model.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)

#define SIM_SMALL (1u << 20) /* bytes: larger files stay on the volume */

struct sim_options {
	uint64_t workers, members, copies, threads, load, think, channels, service, spread, cap, burst;
	uint64_t heavy, heavier, background, behind, bytes, bandwidth, port, nic;
	uint64_t files, tier, tier_cap, tier_service, tier_channels, tier_bandwidth, tier_writes, day, changes, changed;
	unsigned fault, reads;
	uint64_t faulty, slower, stall, every, fault_from, fault_to, from, to, seed;
	bool windows, hedges, tier_full, tier_lru, tier_waits, tier_alone, stays, json;
};

#define NUMBER(FIELD, MIN, MAX) OPTION_NUMBER(struct sim_options, FIELD, MIN, MAX)

static const struct option_spec options[] = {
	{ "workers", 'w', "N", NUMBER(workers, 1, 1000), "machines that read (default 1)" },
	{ "members", 'm', "N", NUMBER(members, 1, MODEL_MEMBERS), "devices of the volume (default 1)" },
	{ "copies", 'p', "N", NUMBER(copies, 1, MODEL_COPIES), "of each file (default 1)" },
	{ "threads", 't', "N", NUMBER(threads, 0, 4096),
	  "each worker has N threads that read one file after the other (default 64); 0: reads come by chance" },
	{ "load", 'l', "PERCENT", NUMBER(load, 1, 200),
	  "of what all devices can do, when reads come by chance (default 50)" },
	{ "heavy", 0, "PERCENT", NUMBER(heavy, 0, 100), "of the workers, which have more threads (default 0)" },
	{ "heavier", 0, "TIMES", NUMBER(heavier, 1, 1000), "the threads of the others (default 8)" },
	{ "background", 0, "N", NUMBER(background, 0, 1000), "machines that warm, scrub or verify (default 0)" },
	{ "behind", 0, "N", NUMBER(behind, 1, 4096), "reads of each of them at a time (default 64)" },
	{ "windows", 0, NULL, OPTION_TRUE(struct sim_options, windows), "reads wait for the window of their machine" },
	{ "hedges", 0, NULL, OPTION_TRUE(struct sim_options, hedges), "late reads are made again from another copy" },
	{ "think", 0, "NS", NUMBER(think, 0, 1000000000), "between two reads of a thread (default 0)" },
	{ "channels", 0, "N", NUMBER(channels, 1, 4096), "reads at a time of a device (default 16)" },
	{ "service", 0, "US", NUMBER(service, 1, 1000000), "that a read takes (default 100)" },
	{ "bytes", 0, "N", NUMBER(bytes, 1, 1u << 30), "of a file (default 8192)" },
	{ "bandwidth", 0, "MB", NUMBER(bandwidth, 0, 1000000),
	  "a second of a device, whose reads take longer by it (default 0: no limit)" },
	{ "port", 0, "MB", NUMBER(port, 0, 1000000), "a second that pass to a device (default 0: no limit)" },
	{ "nic", 0, "MB", NUMBER(nic, 0, 1000000), "a second that pass to a worker (default 0: no limit)" },
	{ "files", 0, "N", NUMBER(files, 0, 100000000),
	  "of the data set, which workers read epoch by epoch (default 0: any file each time)" },
	{ "reads", 0, "KIND", OPTION_WORD(struct sim_options, reads, "all", "shard", "fixed"),
	  "each worker reads all of them (default), another shard in each epoch, or a fixed one" },
	{ "tier", 0, "PERCENT", NUMBER(tier, 0, 1000), "of the files that a worker's cache has room for (default 0)" },
	{ "tier-full", 0, NULL, OPTION_TRUE(struct sim_options, tier_full), "it is full when all begins" },
	{ "tier-service", 0, "US", NUMBER(tier_service, 1, 1000000), "that a read of its drive takes (default 100)" },
	{ "tier-channels", 0, "N", NUMBER(tier_channels, 1, 4096), "reads at a time of its drive (default 16)" },
	{ "tier-cap", 0, "N", NUMBER(tier_cap, 0, 100000000), "reads a second of its drive (default 0: no limit)" },
	{ "tier-bandwidth", 0, "MB", NUMBER(tier_bandwidth, 0, 1000000),
	  "a second that are read from its drive (default 0: no limit)" },
	{ "tier-writes", 0, "MB", NUMBER(tier_writes, 0, 1000000),
	  "a second that are written to it, beside reads (default 0: no limit)" },
	{ "tier-lru", 0, NULL, OPTION_TRUE(struct sim_options, tier_lru), "it evicts what was read longest ago" },
	{ "tier-waits", 0, NULL, OPTION_TRUE(struct sim_options, tier_waits), "readers wait for its drive to write" },
	{ "tier-alone", 0, NULL, OPTION_TRUE(struct sim_options, tier_alone), "what it has is never read elsewhere" },
	{ "day", 0, "MS", NUMBER(day, 10, 86400000), "that count as a day of the cache (default 86400000)" },
	{ "changes", 0, "MS", NUMBER(changes, 0, 1000000000), "from version to version (default 0: there is one)" },
	{ "changed", 0, "PERCENT", NUMBER(changed, 0, 100), "of the files in each version (default 100)" },
	{ "spread", 0, "PERCENT", NUMBER(spread, 0, 100), "of which so much is by chance (default 50)" },
	{ "cap", 0, "N", NUMBER(cap, 0, 100000000), "reads a second of a device at most (default 0: no limit)" },
	{ "burst", 0, "MS", NUMBER(burst, 0, 1000), "of unused cap that a device makes up for (default 100)" },
	{ "fault", 0, "KIND", OPTION_WORD(struct sim_options, fault, "none", "slow", "hang", "fail", "stalls"),
	  "of a device: none (default), slow, hang, fail, or stalls: of each in turn" },
	{ "faulty", 0, "N", NUMBER(faulty, 0, MODEL_MEMBERS), "devices that have it (default 1)" },
	{ "slower", 0, "N", NUMBER(slower, 1, 1000), "times, of a slow device (default 10)" },
	{ "stall", 0, "MS", NUMBER(stall, 1, 1000), "of stalls (default 20)" },
	{ "every", 0, "MS", NUMBER(every, 0, 1000000), "from stall to stall (default 0: always one)" },
	{ "fault-from", 0, "MS", NUMBER(fault_from, 0, 1000000), "when the fault begins (default 0)" },
	{ "fault-to", 0, "MS", NUMBER(fault_to, 0, 1000000), "when it ends (default 0: never)" },
	{ "from", 0, "MS", NUMBER(from, 0, 1000000), "when counting begins (default 500)" },
	{ "to", 0, "MS", NUMBER(to, 1, 1000000), "when all ends (default 1500)" },
	{ "seed", 0, "N", NUMBER(seed, 0, UINT64_MAX), "of chance (default 1)" },
	{ "stays", 0, NULL, OPTION_TRUE(struct sim_options, stays), "reads stay at a device that does not answer" },
	{ "json", 0, NULL, OPTION_TRUE(struct sim_options, json), "print JSON" },
	{ 0 },
};

static const struct command_line command_line = {
	.program = "sim",
	.usage = "[OPTIONS]",
	.summary = "Simulate many workers that read a volume on many devices, by the choice of src/read/route.c.",
	.options = options,
};

static void sim_set_fault(const struct sim_options *o, struct model_setup *setup)
{
	int64_t every = (int64_t)(o->every > o->stall ? o->every : o->stall) * MS;

	for (uint32_t i = 0; i < setup->members; i++) {
		struct member_setup *member = &setup->member[i];

		if (o->fault != MEMBER_STALLS && i >= o->faulty)
			continue;
		member->fault = o->fault;
		member->slower = (unsigned)o->slower;
		member->from = (int64_t)o->fault_from * MS;
		member->to = o->fault_to ? (int64_t)o->fault_to * MS : INT64_MAX;
		if (o->fault != MEMBER_STALLS)
			continue;
		member->from += i * every;
		member->to = member->from + (int64_t)o->stall * MS;
		member->period = setup->members * every;
	}
}

/* The time that so many bytes take at so many MB a second; 0: no limit. */
static int64_t sim_pass(uint64_t bytes, uint64_t rate)
{
	return rate ? (int64_t)(bytes * 1000 / rate) : 0;
}

static void sim_set_tier(const struct sim_options *o, struct model_setup *setup)
{
	setup->order = (struct order_setup){ .kind = o->reads, .files = (uint32_t)o->files,
					     .workers = (uint32_t)o->workers, .seed = o->seed };
	setup->changes = (int64_t)o->changes * MS;
	setup->changed = (double)o->changed / 100;
	setup->tier = (struct tier_setup){ .files = (uint32_t)o->files, .bytes = o->bytes,
					   .part = (double)o->tier / 100, .day = (int64_t)o->day * MS,
					   .begins_full = o->tier_full, .evicts = o->tier_lru,
					   .waits = o->tier_waits, .is_alone = o->tier_alone };
	setup->drive = (struct member_setup){ .channels = (uint32_t)o->tier_channels,
					      .service = (int64_t)o->tier_service * US,
					      .spread = (double)o->spread / 100, .cap = (double)o->tier_cap,
					      .burst = (int64_t)o->burst * MS,
					      .passes = sim_pass(o->bytes, o->tier_bandwidth),
					      .writes = sim_pass(MEMBER_PIECE, o->tier_writes) };
}

static void sim_setup(const struct sim_options *o, struct model_setup *setup)
{
	*setup = (struct model_setup){ .workers = (uint32_t)o->workers, .members = (uint32_t)o->members,
				       .copies = (uint32_t)(o->copies < o->members ? o->copies : o->members),
				       .threads = (uint32_t)o->threads, .load = (double)o->load / 100,
				       .heavy = (uint32_t)(o->workers * o->heavy / 100),
				       .heavier = (uint32_t)o->heavier, .background = (uint32_t)o->background,
				       .behind = (uint32_t)o->behind, .bytes = o->bytes,
				       .comes = sim_pass(o->bytes, o->nic), .windows = o->windows,
				       .hedges = o->hedges, .think = (int64_t)o->think, .leaves = !o->stays,
				       .from = (int64_t)o->from * MS, .to = (int64_t)o->to * MS, .seed = o->seed };
	for (uint32_t i = 0; i < setup->members; i++)
		setup->member[i] = (struct member_setup){ .channels = (uint32_t)o->channels,
							  .service = (int64_t)o->service * US +
								     sim_pass(o->bytes, o->bandwidth),
							  .spread = (double)o->spread / 100, .cap = (double)o->cap,
							  .burst = (int64_t)o->burst * MS,
							  .passes = sim_pass(o->bytes, o->port) };
	sim_set_fault(o, setup);
	sim_set_tier(o, setup);
}

static double sim_us(const struct histogram *histogram, double part)
{
	return (double)histogram_at(histogram, part) / 1000;
}

static double sim_part(uint64_t count, uint64_t of)
{
	return of ? (double)count / (double)of : 0;
}

static void sim_json_times(struct json *json, const char *key, const struct histogram *histogram)
{
	json_begin_object(json, key);
	json_real(json, "p50_us", sim_us(histogram, 0.5));
	json_real(json, "p99_us", sim_us(histogram, 0.99));
	json_real(json, "p999_us", sim_us(histogram, 0.999));
	json_end_object(json);
}

/* The most and the fewest reads of a member, in relation to the mean of those without a fault. */
static void sim_shares(const struct model_setup *setup, const struct model_result *result, double *ret_most,
		       double *ret_least)
{
	double sum = 0, count = 0, most = 0, least = INFINITY;

	for (uint32_t i = 0; i < setup->members; i++) {
		double reads = (double)result->reads[i];

		if (setup->member[i].fault != MEMBER_FINE && setup->member[i].fault != MEMBER_STALLS)
			continue;
		sum += reads;
		count++;
		most = reads > most ? reads : most;
		least = reads < least ? reads : least;
	}
	*ret_most = sum > 0 ? most * count / sum : 0;
	*ret_least = sum > 0 ? least * count / sum : 0;
}

/* Epochs that all workers have ended. */
static void sim_json_epochs(struct json *json, const struct model_setup *setup, const struct model_result *result)
{
	json_begin_array(json, "epochs");
	for (unsigned i = 0; i < MODEL_EPOCHS && result->epochs[i].workers == setup->workers; i++) {
		const struct model_epoch *epoch = &result->epochs[i];

		json_begin_object(json, NULL);
		json_real(json, "files_per_s", epoch->rate);
		json_real(json, "hits", sim_part(epoch->hits, epoch->files));
		json_number(json, "written_bytes", epoch->written);
		json_end_object(json);
	}
	json_end_array(json);
}

static void sim_print_json(const struct model_setup *setup, const struct model_result *result, double seconds)
{
	struct json json = { .out = stdout };
	double most, least;

	sim_shares(setup, result, &most, &least);
	json_begin_object(&json, NULL);
	json_real(&json, "files_per_s", (double)result->files / seconds);
	json_real(&json, "p50_us", sim_us(&result->took, 0.5));
	json_real(&json, "p99_us", sim_us(&result->took, 0.99));
	json_real(&json, "p999_us", sim_us(&result->took, 0.999));
	sim_json_times(&json, "light", &result->light);
	json_real(&json, "jain", result->fairness);
	json_real(&json, "background_per_s", (double)result->background / seconds);
	json_real(&json, "over_2ms", histogram_over(&result->took, MODEL_LATE));
	json_real(&json, "busiest", most);
	json_real(&json, "idlest", least);
	json_real(&json, "extra", sim_part(result->extra, result->files));
	json_real(&json, "hedges", sim_part(result->hedges, result->files));
	json_real(&json, "hits", sim_part(result->hits, result->files));
	json_real(&json, "filled", result->held);
	if (isinf(result->fills))
		json_null(&json, "fill_s");
	else
		json_real(&json, "fill_s", result->fills / 1e9);
	json_number(&json, "dropped", result->dropped);
	json_number(&json, "wrong", result->wrong);
	json_number(&json, "written_bytes", result->written);
	sim_json_epochs(&json, setup, result);
	json_number(&json, "errors", result->errors);
	json_number(&json, "stuck", result->stuck);
	json_begin_array(&json, "reads");
	for (uint32_t i = 0; i < setup->members; i++)
		json_number(&json, NULL, result->reads[i]);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

static void sim_print(const struct model_setup *setup, const struct model_result *result, double seconds)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < setup->members; i++)
		all += result->reads[i];
	printf("%.0f files/s, p50 %.0f us, p99 %.0f us, p99.9 %.0f us, over 2 ms %.2f %%, extra %.2f %%\n",
	       (double)result->files / seconds, sim_us(&result->took, 0.5), sim_us(&result->took, 0.99),
	       sim_us(&result->took, 0.999),
	       100 * histogram_over(&result->took, MODEL_LATE),
	       100 * sim_part(result->extra, result->files));
	if (setup->heavy || setup->windows)
		printf("Jain %.4f, light p50 %.0f us, p99 %.0f us, p99.9 %.0f us\n", result->fairness,
		       sim_us(&result->light, 0.5), sim_us(&result->light, 0.99), sim_us(&result->light, 0.999));
	if (setup->background)
		printf("background %.0f reads/s\n", (double)result->background / seconds);
	if (setup->hedges)
		printf("hedges %.2f %%\n", 100 * sim_part(result->hedges, result->files));
	if (setup->order.files)
		printf("hits %.3f, filled %.3f, dropped %" PRIu64 ", written %" PRIu64 " bytes\n",
		       sim_part(result->hits, result->files), result->held, result->dropped, result->written);
	if (result->errors || result->stuck)
		printf("errors %" PRIu64 ", stuck at the end %" PRIu64 "\n", result->errors, result->stuck);
	printf("share of each member, %%:");
	for (uint32_t i = 0; i < setup->members && all; i++)
		printf(" %.2f", 100 * (double)result->reads[i] / (double)all);
	putchar('\n');
}

static int sim_check(const struct sim_options *o, const char *operand, struct error *err)
{
	if (operand)
		return error_set(err, -EINVAL, "'%s': no operand is expected", operand);
	if (o->from >= o->to)
		return error_set(err, -EINVAL, "--from is not before --to");
	if (o->files && o->bytes > SIM_SMALL)
		return error_set(err, -EINVAL, "a cache takes files of up to %u bytes: --bytes is %" PRIu64, SIM_SMALL,
				 o->bytes);
	if (o->files && o->reads != ORDER_ALL && o->files < o->workers)
		return error_set(err, -EINVAL, "%" PRIu64 " files are not enough for %" PRIu64 " workers", o->files,
				 o->workers);
	return 0;
}

int main(int argc, char **argv)
{
	struct sim_options o = { .workers = 1, .members = 1, .copies = 1, .threads = 64, .load = 50, .channels = 16,
				 .service = 100, .spread = 50, .burst = 100, .faulty = 1, .slower = 10, .stall = 20,
				 .heavier = 8, .behind = 64, .bytes = 8192, .tier_service = 100, .tier_channels = 16,
				 .day = 86400000, .changed = 100, .from = 500, .to = 1500, .seed = 1 };
	static struct model_result result;
	struct model_setup setup;
	struct error err = { 0 };
	bool done = false;
	int operands = options_parse(&command_line, argc, argv, &o, &done, &err), r = operands < 0 ? operands : 0;

	if (r == 0 && !done)
		r = sim_check(&o, operands ? argv[1] : NULL, &err);
	if (r < 0)
		fprintf(stderr, "sim: %s\n", err.reason);
	if (r < 0 || done)
		return r < 0 ? 2 : 0;
	sim_setup(&o, &setup);
	model_run(&setup, &result);
	(o.json ? sim_print_json : sim_print)(&setup, &result, (double)(o.to - o.from) / 1000);
	return 0;
}
