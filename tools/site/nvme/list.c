/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme list: shows subsystems, their namespaces, and the paths to each. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/format.h"
#include "grid.h"
#include "nvme/nvme.h"
#include "text.h"

static const struct option_spec nvme_list_table[] = { VERB_OPTION_JSON, { 0 } };

const struct command_line nvme_list_line = {
	.program = "datasetfsctl nvme list",
	.usage = "",
	.summary = "Show connected namespaces and their paths.",
	.options = nvme_list_table,
};

static void nvme_list_path(struct grid *grid, const struct topology *t, const struct topology_path *path)
{
	const struct topology_controller *controller = &t->controllers[path->controller];
	char address[192], security[NVME_SECURITY_SIZE];

	grid_cell(grid, "%s", controller->name);
	grid_cell(grid, "%s", controller->transport);
	grid_cell(grid, "%s", nvme_address(controller, address));
	grid_cell(grid, "%s", controller->state);
	grid_cell(grid, "%s", path->ana_state);
	grid_cell(grid, "%s", nvme_security(controller, security));
}

static int nvme_list_paths(const struct topology *t, size_t namespace, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_LEFT, "", "", "", "", "", "");
	for (size_t i = 0; i < t->path_count; i++)
		if (t->paths[i].namespace == namespace)
			nvme_list_path(grid, t, &t->paths[i]);
	return grid_print(grid, 4, err);
}

static int nvme_list_namespace(const struct topology *t, size_t number, struct error *err)
{
	const struct topology_namespace *namespace = &t->namespaces[number];
	char identity[TOPOLOGY_IDENTITY_SIZE], size[SIZE_TEXT_SIZE], mapping[NVME_MAPPING_SIZE];

	topology_identity(namespace, identity);
	nvme_mapping(namespace, mapping);
	text_print("  %s  %s, blocks of %u bytes%s, %s%s%s\n", namespace->name, format_size(namespace->size, size),
		   namespace->lba_size, namespace->read_only ? ", read-only" : "",
		   identity[0] ? identity : "no identity of its own", mapping[0] ? ", " : "", mapping);
	return nvme_list_paths(t, number, err);
}

static void nvme_list_subsystem(const struct topology_subsystem *subsystem)
{
	text_write(stdout, subsystem->nqn, strlen(subsystem->nqn));
	if (subsystem->iopolicy[0])
		text_print(" (paths chosen by %s)", subsystem->iopolicy);
	putchar('\n');
}

static int nvme_list_text(const struct topology *t, struct error *err)
{
	bool none = true;
	int r = 0;

	for (size_t s = 0; s < t->subsystem_count; s++) {
		if (t->subsystems[s].is_discovery)
			continue;
		none = false;
		nvme_list_subsystem(&t->subsystems[s]);
		for (size_t i = 0; r == 0 && i < t->namespace_count; i++)
			if (t->namespaces[i].subsystem == s)
				r = nvme_list_namespace(t, i, err);
	}
	if (none)
		printf("no NVMe subsystems on this host\n");
	return r;
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
	int operands, status, r;

	if (!verb_parse(&nvme_list_line, argc, argv, &options, &operands, &status))
		return status;
	r = topology_read(topology_root(), &topology, &err);
	if (r == 0 && options.json)
		nvme_list_json(&topology);
	else if (r == 0)
		r = nvme_list_text(&topology, &err);
	if (r < 0) {
		log_error(&err, "cannot list NVMe namespaces");
		return VERB_FAILED;
	}
	return VERB_DONE;
}
