/* SPDX-License-Identifier: MIT */
/* datasetfsctl plan: computes the needs of a cluster that reads a version, and its limits. Reads the index, and with
 * --measure the devices. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/parse.h"
#include "describe/survey/survey.h"
#include "plan/gauge.h"
#include "plan/rate.h"
#include "plan/sheet.h"
#include "verb.h"
#include "volume.h"

#define PLAN_AS_IT_IS 3u /* of protect */

struct plan_options {
	struct verb_options common;
	struct formulas_inputs inputs; /* 0: not given */
	uint64_t workers, gpus, members, cpus, readers;
	unsigned reads, protect;
	bool library, measure;
};

/* Makes a setter that parses a bandwidth or a number into a field of the inputs, in the unit of the formulas. */
#define PLAN_SETTER(NAME, PARSE, FIELD, SCALE)                                                         \
	static int plan_set_##NAME(void *target, const char *argument, struct error *err)              \
	{                                                                                              \
		struct plan_options *options = target;                                                 \
		double value;                                                                          \
		int r = PARSE;                                                                         \
                                                                                                       \
		if (r == 0)                                                                            \
			options->inputs.FIELD = value * (SCALE);                                       \
		return r;                                                                              \
	}

PLAN_SETTER(rate, rate_parse_number(argument, 0.001, 1e9, &value, err), rate, 1)
PLAN_SETTER(port, rate_parse(argument, &value, err), port, 1)
PLAN_SETTER(nic, rate_parse(argument, &value, err), nic, 1)
PLAN_SETTER(latency, rate_parse_number(argument, 1, 1e7, &value, err), latency, 1e-6)
PLAN_SETTER(cpu_time, rate_parse_number(argument, 0.01, 1e7, &value, err), cpu_time, 1e-6)
PLAN_SETTER(cache_write, rate_parse(argument, &value, err), cache_write, 1)

static int plan_set_device(void *target, const char *argument, struct error *err)
{
	struct formulas_inputs *inputs = &((struct plan_options *)target)->inputs;

	return rate_parse_device(argument, &inputs->iops, &inputs->bandwidth, err);
}

static int plan_set_cache_device(void *target, const char *argument, struct error *err)
{
	struct formulas_inputs *inputs = &((struct plan_options *)target)->inputs;

	return rate_parse_device(argument, &inputs->cache_iops, &inputs->cache_bandwidth, err);
}

static int plan_set_cache(void *target, const char *argument, struct error *err)
{
	uint64_t size;
	int r = parse_size(argument, 1 << 20, UINT64_C(1) << 50, &size, err);

	if (r == 0)
		((struct plan_options *)target)->inputs.cache = (double)size;
	return r;
}

#define PLAN_NUMBER(FIELD, MAX) OPTION_NUMBER(struct plan_options, FIELD, 1, MAX)

static const struct option_spec plan_table[] = {
	{ "workers", 0, "N", PLAN_NUMBER(workers, 1000000), "machines that read" },
	{ "gpus", 0, "N", PLAN_NUMBER(gpus, 1000), "GPUs of each" },
	{ "rate", 0, "N", OPTION_CALL(plan_set_rate), "files a second that each GPU takes" },
	{ "reads", 0, "KIND", OPTION_WORD(struct plan_options, reads, "all", "shard", "fixed"),
	  "each worker reads all, another shard in each epoch (default), or a fixed one" },
	{ "device", 0, "IOPS,RATE", OPTION_CALL(plan_set_device), "reads and bytes a second of a member" },
	{ "measure", 0, NULL, OPTION_TRUE(struct plan_options, measure), "measure that here: up to 10 s of reads" },
	{ "members", 0, "N", PLAN_NUMBER(members, 255), "plan for so many members" },
	{ "protect", 0, "KIND", OPTION_WORD(struct plan_options, protect, "none", "mirror:2", "mirror:3"),
	  "plan for none, mirror:2 or mirror:3" },
	{ "port", 0, "RATE", OPTION_CALL(plan_set_port), "bandwidth of the way to a member" },
	{ "nic", 0, "RATE", OPTION_CALL(plan_set_nic), "bandwidth of the way to a worker" },
	{ "latency", 0, "US", OPTION_CALL(plan_set_latency), "microseconds of a read that waits for no other" },
	{ "readers", 0, "N", PLAN_NUMBER(readers, 1000000), "files that a worker reads at a time" },
	{ "cpus", 0, "N", PLAN_NUMBER(cpus, 100000), "CPUs of a worker that reading may use" },
	{ "cpu-time", 0, "US", OPTION_CALL(plan_set_cpu_time), "microseconds of CPU time for a file" },
	{ "library", 0, NULL, OPTION_TRUE(struct plan_options, library), "programs read past the mount" },
	{ "cache", 0, "SIZE", OPTION_CALL(plan_set_cache), "cache of each worker, on a drive of its own" },
	{ "cache-device", 0, "IOPS,RATE", OPTION_CALL(plan_set_cache_device), "of that drive" },
	{ "cache-write", 0, "RATE", OPTION_CALL(plan_set_cache_write), "bytes a second that it takes" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line plan_line = {
	.program = "datasetfsctl plan",
	.usage = "VOLUME|MNT [LABEL]",
	.operands = { 1, 2 },
	.summary = "Compute what a cluster needs, and its limit.\n"
		   "--workers, --gpus and --rate are needed; what else is not given is assumed and named.\n"
		   "A RATE has a unit, as 25Gbit, 3GB or 3GiB.",
	.options = plan_table,
};

/* ---- the question ---- */

static int plan_check(const struct plan_options *options, struct error *err)
{
	const struct formulas_inputs *inputs = &options->inputs;

	if (!options->workers || !options->gpus || inputs->rate <= 0)
		return error_set(err, -EINVAL, "expected --workers, --gpus and --rate, see 'datasetfsctl plan --help'");
	if (options->measure && inputs->iops > 0)
		return error_set(err, -EINVAL, "expected --device or --measure, not both");
	if (inputs->cache <= 0 && (inputs->cache_iops > 0 || inputs->cache_write > 0))
		return error_set(err, -EINVAL, "--cache-device and --cache-write tell how fast a cache is: "
				 "give --cache too");
	if (options->library && inputs->cpu_time > 0)
		return error_set(err, -EINVAL, "--library says which CPU time to assume: give it or --cpu-time");
	return 0;
}

/* Takes members and copies from the volume where the user gave none. */
static int plan_members(const struct plan_options *options, const struct volume *volume, struct sheet *sheet,
			struct error *err)
{
	unsigned members = options->members ? (unsigned)options->members : volume->array->count;

	sheet->copies = options->protect == PLAN_AS_IT_IS ? members_spare(&volume->catalogue.members) + 1 :
							    options->protect + 1;
	if (sheet->copies > members && options->protect == PLAN_AS_IT_IS)
		return error_set(err, -EINVAL, "the volume keeps %u copies, which do not fit on %u member%s: give "
				 "--protect too", sheet->copies, members, members == 1 ? "" : "s");
	if (sheet->copies > members)
		return error_set(err, -EINVAL, "mirror:%u needs %u members, and there %s %u: give --members",
				 sheet->copies, sheet->copies, members == 1 ? "is" : "are", members);
	sheet->inputs.members = members;
	sheet->inputs.has_copies = sheet->copies > 1;
	return 0;
}

static int plan_data(const struct subject *subject, struct formulas_data *ret, struct error *err)
{
	struct survey *survey = NULL;
	int r = survey_run(subject->index, NULL, 0, &survey, err);

	if (r == 0 && !survey->files)
		r = error_set(err, -EINVAL, "version '%s' has no file to read", subject->version->label);
	if (r == 0)
		*ret = (struct formulas_data){ .files = (double)survey->files,
					       .reads = (double)survey->storage.reads,
					       .bytes = (double)survey->storage.read_bytes,
					       .small_reads = (double)survey->storage.small_reads,
					       .small_bytes = (double)survey->storage.small_bytes,
					       .index = (double)subject->version->index.length };
	survey_free(survey);
	return r;
}

/* Names the mounts that are disturbed before they are. */
static int plan_warn(const struct subject *subject, struct served *served, struct error *err)
{
	int r = served_open(subject->volume, subject->volume->super.volume_uuid, served, err);

	if (r == 0 && served_concern_all(served))
		log_warn("measuring slows these mounts down for some seconds, and mounts on other hosts too:");
	return r == 0 ? served_refuse(served, true, "", err) : r;
}

static int plan_measure(const struct subject *subject, struct formulas_inputs *inputs, struct served *served,
			struct error *err)
{
	struct gauge gauge;
	int r = plan_warn(subject, served, err);

	if (r == 0)
		r = gauge_run(subject, &gauge, err);
	if (r < 0)
		return r;
	inputs->iops = gauge.iops;
	inputs->bandwidth = gauge.bandwidth;
	if (inputs->latency <= 0)
		inputs->latency = gauge.latency;
	return 0;
}

static int plan_make(const struct plan_options *options, const struct subject *subject, struct sheet *sheet,
		     struct error *err)
{
	int r;

	*sheet = (struct sheet){ .subject = subject, .inputs = options->inputs, .is_measured = options->measure };
	sheet->inputs.workers = (double)options->workers;
	sheet->inputs.gpus = (double)options->gpus;
	sheet->inputs.cpus = (double)options->cpus;
	sheet->inputs.readers = (double)options->readers;
	sheet->inputs.how = options->reads;
	r = plan_members(options, subject->volume, sheet, err);
	if (r == 0)
		r = plan_data(subject, &sheet->data, err);
	if (r == 0 && options->measure)
		r = plan_measure(subject, &sheet->inputs, &sheet->served, err);
	if (r < 0)
		return r;
	assume_inputs(&sheet->inputs, options->library, &sheet->assumptions);
	formulas_plan(&sheet->data, &sheet->inputs, &sheet->plan);
	return 0;
}

int plan_run(int argc, char **argv)
{
	struct plan_options options = { .reads = FORMULAS_SHARD, .protect = PLAN_AS_IT_IS };
	auto_volume struct volume *volume = NULL;
	struct subject subject = { 0 };
	struct error err = { 0 };
	struct sheet sheet = { 0 };
	int operands, status, r;

	if (!verb_parse(&plan_line, argc, argv, &options, &operands, &status))
		return status;
	if (plan_check(&options, &err) < 0) {
		log_err("plan: %s", err.reason);
		return VERB_USAGE;
	}
	r = volume_open_loaded(argv[1], &volume, &err);
	if (r == 0)
		r = subject_open(volume, operands > 1 ? argv[2] : NULL, &options.common.demands, &subject, &err);
	if (r == 0)
		r = plan_make(&options, &subject, &sheet, &err);
	if (r == 0 && options.common.json)
		sheet_json(&sheet);
	else if (r == 0)
		r = sheet_text(&sheet, &err);
	served_close(&sheet.served);
	subject_close(&subject);
	if (r < 0) {
		log_error(&err, "cannot plan for '%s'", argv[1]);
		return VERB_FAILED;
	}
	return VERB_DONE;
}
