/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme inspect: shows one namespace, its paths, and the advice about it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "device/locate.h"
#include "device/nvme/advice.h"
#include "device/nvme/nvme.h"
#include "device/nvme/sysfs.h"
#include "nvme/nvme.h"
#include "text.h"

#define INSPECT_LIST 4096u /* bytes of a list of CPUs */

static const struct option_spec nvme_inspect_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line nvme_inspect_line = {
	.program = "datasetfsctl nvme inspect",
	.usage = "DEVICE|VOLUME",
	.operands = { 1, 1 },
	.summary = "Show one namespace, with warnings and notes.",
	.options = nvme_inspect_table,
};

/* All facts about the namespace; a zeroed one can be closed. */
struct nvme_inspect {
	struct topology topology;
	const struct topology_namespace *namespace;
	struct nvme_facts facts;
	struct nvme_holder holder;
	struct error no_facts, no_holder; /* why they are not known; code 0: they are */
	struct advice advice[ADVICE_MAX];
	size_t advice_count;
};

/* Finds the namespace by its identity, or by the device at a path. */
static int nvme_inspect_find(struct nvme_inspect *inspect, const char *name, struct error *err)
{
	struct stat st;
	int r = topology_read(topology_root(), &inspect->topology, err);

	if (r < 0)
		return r;
	if (locate_is_identity(name))
		return locate_namespace(&inspect->topology, name, &inspect->namespace, err);
	if (stat(name, &st) < 0)
		return error_errno(err, "'%s'", name);
	inspect->namespace = S_ISBLK(st.st_mode) ? topology_below(&inspect->topology, st.st_rdev) : NULL;
	if (!inspect->namespace)
		return error_set(err, -ENODEV, "'%s' is not an NVMe namespace", name);
	return 0;
}

/* Reads the facts that need commands to the controller. If a command fails, they are not known, which is no failure. */
static void nvme_inspect_ask(struct nvme_inspect *inspect)
{
	auto_free char *path = NULL;
	auto_close int fd = -1;

	if (locate_node(inspect->namespace, &path, &inspect->no_facts) == 0) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			error_errno(&inspect->no_facts, "cannot open '%s'", path);
	}
	if (fd >= 0)
		(void)!nvme_facts_read(fd, inspect->namespace->nsid, &inspect->facts, &inspect->no_facts);
	if (inspect->no_facts.code)
		inspect->no_holder = inspect->no_facts;
	else if (!inspect->facts.can_reserve)
		error_set(&inspect->no_holder, -EOPNOTSUPP, "the target has no reservations");
	else
		(void)!nvme_holder_read(fd, inspect->namespace->nsid, &inspect->holder, &inspect->no_holder);
}

/* Returns whether a list such as "0-3,8" has a CPU of the set. */
static bool nvme_inspect_meets(const char *list, const cpu_set_t *cpus)
{
	unsigned first, last;
	int used;

	for (; sscanf(list, "%u%n", &first, &used) == 1; list += used + (list[used] == ',')) {
		last = first;
		list += used;
		used = 0;
		if (*list == '-')
			sscanf(list, "-%u%n", &last, &used);
		for (unsigned cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, cpus))
				return true;
	}
	return false;
}

static uint64_t nvme_inspect_nodes(const cpu_set_t *cpus)
{
	char path[64], list[INSPECT_LIST];
	uint64_t nodes = 0;

	for (unsigned node = 0; node < ADVICE_NODES; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u", node);
		if (sysfs_text(path, "cpulist", list, sizeof(list)) && nvme_inspect_meets(list, cpus))
			nodes |= UINT64_C(1) << node;
	}
	return nodes;
}

static void nvme_inspect_advise(struct nvme_inspect *inspect)
{
	struct advice_setup setup = {
		.topology = &inspect->topology,
		.namespace = inspect->namespace,
		.facts = inspect->no_facts.code ? NULL : &inspect->facts,
		.holder = inspect->no_holder.code ? NULL : &inspect->holder,
		.cpus = 1,
	};
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) {
		setup.cpus = (unsigned)CPU_COUNT(&cpus);
		setup.nodes = nvme_inspect_nodes(&cpus);
	}
	inspect->advice_count = advice_give(&setup, inspect->advice);
}

/* ---- text ---- */

static void nvme_inspect_text_holder(const struct nvme_inspect *inspect)
{
	char host[UUID_TEXT_SIZE];

	if (inspect->no_holder.code) {
		text_print("reservation  not known: %s\n", inspect->no_holder.reason);
		return;
	}
	if (inspect->holder.hold == NVME_HOLD_NONE) {
		printf("reservation  none\n");
		return;
	}
	format_uuid(inspect->holder.host, host);
	printf("reservation  %s, held by host %s\n",
	       inspect->holder.hold == NVME_HOLD_WRITE_EXCLUSIVE ? "write exclusive" : "of another kind", host);
}

static void nvme_inspect_text_facts(const struct nvme_inspect *inspect)
{
	const struct nvme_facts *facts = &inspect->facts;

	if (inspect->namespace->boundary)
		printf("boundary     %" PRIu32 " bytes (NOIOB)\n", inspect->namespace->boundary);
	if (inspect->no_facts.code) {
		text_print("commands     not possible: %s\n", inspect->no_facts.reason);
		printf("protection   %s\n", inspect->namespace->read_only ? "read-only" : "writable");
		return;
	}
	if (facts->granule)
		printf("writes       granule %" PRIu32 " bytes (NPWG), alignment %" PRIu32 " bytes (NPWA)\n",
		       facts->granule, facts->alignment);
	printf("shared       %s\n", facts->is_shared ? "yes" : "no");
	printf("protection   %s, the target %s it\n",
	       facts->is_protected ? "write-protected" : inspect->namespace->read_only ? "read-only" : "writable",
	       facts->can_protect ? "can protect" : "cannot protect");
}

static void nvme_inspect_text_path(const struct topology_controller *c, const struct topology_path *path)
{
	char address[192], security[NVME_SECURITY_SIZE];

	nvme_address(c, address);
	nvme_security(c, security);
	text_print("  %-8s %s%s%s, %s%s%s, %" PRId64 " queues of %" PRId64 ", NUMA node %" PRId64 "%s%s%s\n", c->name,
		   c->transport, address[0] ? " " : "", address, c->state, path->ana_state[0] ? ", " : "",
		   path->ana_state, c->queues, c->queue_size, c->numa_node, path->data_digest ? ", data digest" : "",
		   security[0] ? ", " : "", security);
}

static void nvme_inspect_text_paths(const struct nvme_inspect *inspect)
{
	const struct topology *t = &inspect->topology;

	text_print("paths        chosen by %s\n",
	       t->subsystems[inspect->namespace->subsystem].iopolicy[0] ?
		       t->subsystems[inspect->namespace->subsystem].iopolicy :
		       "nobody: the kernel has no multipath");
	for (size_t i = 0; i < t->path_count; i++)
		if (&t->namespaces[t->paths[i].namespace] == inspect->namespace)
			nvme_inspect_text_path(&t->controllers[t->paths[i].controller], &t->paths[i]);
}

static void nvme_inspect_text(const struct nvme_inspect *inspect)
{
	const struct topology_namespace *namespace = inspect->namespace;
	char identity[TOPOLOGY_IDENTITY_SIZE], size[SIZE_TEXT_SIZE], mapping[NVME_MAPPING_SIZE];
	const char *nqn = inspect->topology.subsystems[namespace->subsystem].nqn;

	topology_identity(namespace, identity);
	text_print("namespace    %s, %s, blocks of %" PRIu32 " bytes\n", namespace->name,
		   format_size(namespace->size, size), namespace->lba_size);
	text_print("identity     %s\n", identity[0] ? identity : "none of its own");
	printf("subsystem    nvme://");
	text_write(stdout, nqn, strlen(nqn));
	printf("/%" PRIu32 "\n", namespace->nsid);
	if (nvme_mapping(namespace, mapping)[0])
		text_print("mapping      %s\n", mapping);
	nvme_inspect_text_facts(inspect);
	nvme_inspect_text_holder(inspect);
	nvme_inspect_text_paths(inspect);
	for (size_t i = 0; i < inspect->advice_count; i++)
		text_print("%s %s\n", inspect->advice[i].is_warning ? "warning:    " : "note:       ",
		       inspect->advice[i].text);
}

/* ---- JSON ---- */

static void nvme_inspect_json_holder(const struct nvme_inspect *inspect, struct json *json)
{
	char host[UUID_TEXT_SIZE];

	if (inspect->no_holder.code) {
		json_null(json, "reservation");
		json_string(json, "reservation_unknown", inspect->no_holder.reason);
		return;
	}
	format_uuid(inspect->holder.host, host);
	json_begin_object(json, "reservation");
	json_string(json, "type",
		    inspect->holder.hold == NVME_HOLD_NONE	      ? "none" :
		    inspect->holder.hold == NVME_HOLD_WRITE_EXCLUSIVE ? "write-exclusive" :
									"other");
	json_string(json, "host", inspect->holder.hold == NVME_HOLD_NONE ? "" : host);
	json_number(json, "registrants", inspect->holder.registrants);
	json_end_object(json);
}

static void nvme_inspect_json_facts(const struct nvme_inspect *inspect, struct json *json)
{
	const struct nvme_facts *facts = &inspect->facts;

	json_number(json, "boundary", inspect->namespace->boundary);
	if (inspect->no_facts.code) {
		json_string(json, "commands_unknown", inspect->no_facts.reason);
		return;
	}
	json_number(json, "write_granule", facts->granule);
	json_number(json, "write_alignment", facts->alignment);
	json_bool(json, "shared", facts->is_shared);
	json_bool(json, "write_protected", facts->is_protected);
	json_bool(json, "can_protect", facts->can_protect);
	json_bool(json, "can_reserve", facts->can_reserve);
}

static void nvme_inspect_json(const struct nvme_inspect *inspect)
{
	const struct topology *t = &inspect->topology;
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	nvme_json_namespace(&json, t, inspect->namespace);
	nvme_inspect_json_facts(inspect, &json);
	nvme_inspect_json_holder(inspect, &json);
	json_string(&json, "iopolicy", t->subsystems[inspect->namespace->subsystem].iopolicy);
	json_begin_array(&json, "paths");
	for (size_t i = 0; i < t->path_count; i++)
		if (&t->namespaces[t->paths[i].namespace] == inspect->namespace)
			nvme_json_path(&json, t, &t->paths[i]);
	json_end_array(&json);
	json_begin_array(&json, "advice");
	for (size_t i = 0; i < inspect->advice_count; i++) {
		json_begin_object(&json, NULL);
		json_bool(&json, "warning", inspect->advice[i].is_warning);
		json_string(&json, "kind", inspect->advice[i].kind);
		json_string(&json, "text", inspect->advice[i].text);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

int nvme_inspect_run(int argc, char **argv)
{
	struct nvme_inspect inspect = { 0 };
	struct verb_options options = { 0 };
	struct error err = { 0 };
	int operands, status;

	if (!verb_parse(&nvme_inspect_line, argc, argv, &options, &operands, &status))
		return status;
	if (nvme_inspect_find(&inspect, argv[1], &err) < 0) {
		log_error(&err, "cannot inspect");
		topology_free(&inspect.topology);
		return VERB_FAILED;
	}
	nvme_inspect_ask(&inspect);
	nvme_inspect_advise(&inspect);
	if (options.json)
		nvme_inspect_json(&inspect);
	else
		nvme_inspect_text(&inspect);
	topology_free(&inspect.topology);
	return VERB_DONE;
}
