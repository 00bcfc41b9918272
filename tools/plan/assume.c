/* SPDX-License-Identifier: MIT */
/* Has each default with the option that replaces it and where it comes from. */
#include "plan/assume.h"

#include <assert.h>

#define ASSUME_READERS 16 /* for each GPU */

void assume_add(struct assumptions *assumptions, const char *option, const char *value, const char *why)
{
	assert(assumptions->count < ASSUME_MOST);
	assumptions->list[assumptions->count++] = (struct assumed){ option, value, why };
}

static void assume(struct assumptions *assumptions, double *field, double number, struct assumed assumed)
{
	if (*field > 0)
		return;
	*field = number;
	assume_add(assumptions, assumed.option, assumed.value, assumed.why);
}

static void assume_cache(struct formulas_inputs *inputs, struct assumptions *ret)
{
	if (inputs->cache <= 0)
		return;
	if (inputs->cache_iops <= 0)
		inputs->cache_bandwidth = 5e9;
	assume(ret, &inputs->cache_iops, 500000,
	       (struct assumed){ "--cache-device", "500000,5GB", "an NVMe drive" });
	assume(ret, &inputs->cache_write, 1e9,
	       (struct assumed){ "--cache-write", "1GB", "what such a drive sustains" });
}

void assume_inputs(struct formulas_inputs *inputs, bool has_library, struct assumptions *ret)
{
	if (inputs->iops <= 0)
		inputs->bandwidth = 5e9;
	assume(ret, &inputs->iops, 500000,
	       (struct assumed){ "--device", "500000,5GB", "an NVMe drive; or use --measure" });
	assume(ret, &inputs->port, 12.5e9,
	       (struct assumed){ "--port", "100Gbit", "each member has a port of its own" });
	assume(ret, &inputs->nic, 12.5e9, (struct assumed){ "--nic", "100Gbit", "of each worker" });
	assume(ret, &inputs->latency, 100e-6, (struct assumed){ "--latency", "100", "a drive and a network at rest" });
	assume(ret, &inputs->readers, ASSUME_READERS * inputs->gpus,
	       (struct assumed){ "--readers", "16 for each GPU", "processes of a loader, one file each" });
	assume(ret, &inputs->cpus, 4, (struct assumed){ "--cpus", "4", "the loader needs the others" });
	if (has_library)
		assume(ret, &inputs->cpu_time, 9e-6,
		       (struct assumed){ "--cpu-time", "9", "measured with the library" });
	else
		assume(ret, &inputs->cpu_time, 45e-6, (struct assumed){ "--cpu-time", "45", "measured on a mount" });
	assume_cache(inputs, ret);
}
