/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme discover: shows the subsystems that the targets behind portals offer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/nvme/nvme.h"
#include "grid.h"
#include "nvme/nvme.h"

static const struct option_spec nvme_discover_table[] = { NVME_OPTIONS_TARGET, VERB_OPTION_JSON, { 0 } };

const struct command_line nvme_discover_line = {
	.program = "datasetfsctl nvme discover",
	.usage = "PORTAL...",
	.operands = { 1, OPERANDS_ANY },
	.summary = "Ask targets which subsystems they offer.\n"
		   "A portal is tcp://ADDRESS[:PORT], rdma://ADDRESS[:PORT] or loop; the port is 4420 unless given.",
	.options = nvme_discover_table,
};

static int nvme_discover_text(const struct nvme_offer *offers, size_t count, struct error *err)
{
	auto_grid struct grid *grid = NULL;
	char portal[PORTAL_TEXT_SIZE];
	const char *where;
	int r = grid_new(&grid, err);

	if (r < 0)
		return r;
	grid_columns(grid, GRID_LEFT, "", "");
	for (size_t i = 0; i < count; i++) {
		if (offers[i].is_discovery)
			continue;
		where = offers[i].portal.transport[0] ? portal_text(&offers[i].portal, portal) : offers[i].transport;
		grid_name(grid, where, strlen(where));
		grid_name(grid, offers[i].nqn, strlen(offers[i].nqn));
	}
	return grid_print(grid, 0, err);
}

static void nvme_discover_json(struct json *json, const struct nvme_offer *offers, size_t count)
{
	char portal[PORTAL_TEXT_SIZE];

	for (size_t i = 0; i < count; i++) {
		json_begin_object(json, NULL);
		json_string(json, "nqn", offers[i].nqn);
		json_string(json, "transport", offers[i].transport);
		json_string(json, "portal",
			    offers[i].portal.transport[0] ? portal_text(&offers[i].portal, portal) : "");
		json_bool(json, "discovery", offers[i].is_discovery);
		json_end_object(json);
	}
}

static int nvme_discover_one(const struct nvme_options *options, const char *text, struct json *json,
			     struct error *err)
{
	auto_free struct nvme_offer *offers = NULL;
	struct portal portal;
	size_t count;
	int r = portal_parse(text, &portal, err);

	if (r == 0)
		r = nvme_discover(&options->host, &portal, &options->settings, &offers, &count, err);
	if (r < 0)
		return r;
	if (!options->common.json)
		return nvme_discover_text(offers, count, err);
	nvme_discover_json(json, offers, count);
	return 0;
}

/* Checks all portals before the first one is asked. */
static int nvme_discover_check(const struct nvme_options *options, char **portals, int count, struct error *err)
{
	struct portal portal;
	int r = nvme_secrets_check(options, err);

	for (int i = 0; r == 0 && i < count; i++)
		r = nvme_secrets_check_portal(options, portals[i], &portal, err);
	return r;
}

/* Asks all portals, also those behind one that fails. Returns how many failed. */
static int nvme_discover_all(const struct nvme_options *options, char **portals, int count)
{
	struct json json = { .out = stdout };
	struct error err = { 0 };
	int failed = 0;

	if (options->common.json) {
		json_begin_object(&json, NULL);
		json_begin_array(&json, "subsystems");
	}
	for (int i = 0; i < count; i++)
		if (nvme_discover_one(options, portals[i], &json, &err) < 0) {
			log_error(&err, "cannot discover");
			failed++;
		}
	if (options->common.json) {
		json_end_array(&json);
		json_end_object(&json);
		putchar('\n');
	}
	return failed;
}

int nvme_discover_run(int argc, char **argv)
{
	struct nvme_options options = { 0 };
	struct error err = { 0 };
	int operands, status, r, failed = 0;

	if (!verb_parse(&nvme_discover_line, argc, argv, &options, &operands, &status))
		return status;
	if (nvme_discover_check(&options, argv + 1, operands, &err) < 0) {
		log_error(&err, "discover");
		return VERB_USAGE;
	}
	r = host_read(HOST_FOLDER, &options.host, &err);
	if (r == 0)
		r = nvme_secrets_read(&options, &err);
	if (r == 0)
		failed = nvme_discover_all(&options, argv + 1, operands);
	nvme_secrets_wipe(&options);
	if (r < 0)
		log_error(&err, "cannot discover");
	return r < 0 || failed ? VERB_FAILED : VERB_DONE;
}
