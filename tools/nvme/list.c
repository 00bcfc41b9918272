/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme list: shows subsystems, their namespaces, and the paths to each. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "nvme/nvme.h"
#include "text.h"

static const struct option_spec nvme_list_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line nvme_list_line = {
	.program = "datasetfsctl nvme list",
	.usage = "",
	.summary = "Show connected namespaces and their paths.",
	.options = nvme_list_table,
};

static void nvme_list_path(const struct topology *t, const struct topology_path *path)
{
	const struct topology_controller *controller = &t->controllers[path->controller];
	char address[192];

	text_print("    %-8s %-5s %-28s %-11s %s\n", controller->name, controller->transport,
	       nvme_address(controller, address), controller->state, path->ana_state);
}

static void nvme_list_namespace(const struct topology *t, size_t number)
{
	const struct topology_namespace *namespace = &t->namespaces[number];
	char identity[TOPOLOGY_IDENTITY_SIZE], size[SIZE_TEXT_SIZE];

	topology_identity(namespace, identity);
	text_print("  %-10s %s, blocks of %u bytes%s, %s\n", namespace->name, format_size(namespace->size, size),
	       namespace->lba_size, namespace->read_only ? ", read-only" : "",
	       identity[0] ? identity : "no identity of its own");
	for (size_t i = 0; i < t->path_count; i++)
		if (t->paths[i].namespace == number)
			nvme_list_path(t, &t->paths[i]);
}

static void nvme_list_text(const struct topology *t)
{
	bool none = true;

	for (size_t s = 0; s < t->subsystem_count; s++) {
		if (t->subsystems[s].is_discovery)
			continue;
		none = false;
		text_write(stdout, t->subsystems[s].nqn, strlen(t->subsystems[s].nqn));
		if (t->subsystems[s].iopolicy[0])
			text_print(" (paths chosen by %s)", t->subsystems[s].iopolicy);
		putchar('\n');
		for (size_t i = 0; i < t->namespace_count; i++)
			if (t->namespaces[i].subsystem == s)
				nvme_list_namespace(t, i);
	}
	if (none)
		printf("no NVMe subsystems on this host\n");
}

static void nvme_list_json(const struct topology *t)
{
	struct json json = { .out = stdout };

	json_begin_object(&json, NULL);
	json_begin_array(&json, "namespaces");
	for (size_t i = 0; i < t->namespace_count; i++) {
		json_begin_object(&json, NULL);
		nvme_json_namespace(&json, t, &t->namespaces[i]);
		json_string(&json, "iopolicy", t->subsystems[t->namespaces[i].subsystem].iopolicy);
		json_begin_array(&json, "paths");
		for (size_t p = 0; p < t->path_count; p++)
			if (t->paths[p].namespace == i)
				nvme_json_path(&json, t, &t->paths[p]);
		json_end_array(&json);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

int nvme_list_run(int argc, char **argv)
{
	auto_topology struct topology topology = { 0 };
	struct verb_options options = { 0 };
	struct error err = { 0 };
	int operands, status;

	if (!verb_parse(&nvme_list_line, argc, argv, &options, 0, 0, &operands, &status))
		return status;
	if (topology_read(topology_root(), &topology, &err) < 0) {
		log_error(&err, "cannot list NVMe namespaces");
		return VERB_FAILED;
	}
	if (options.json)
		nvme_list_json(&topology);
	else
		nvme_list_text(&topology);
	return VERB_DONE;
}
