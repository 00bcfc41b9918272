/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme disconnect: disconnects all controllers of a subsystem, or single ones, unless a mount needs
 * them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "device/busy.h"
#include "device/locate.h"
#include "device/nvme/fabrics.h"
#include "nvme/nvme.h"
#include "text.h"

struct nvme_disconnect_options {
	struct verb_options common;
	bool force;
};

static const struct option_spec nvme_disconnect_table[] = {
	{ "force", 0, NULL, OPTION_TRUE(struct nvme_disconnect_options, force),
	  "disconnect even if the namespace is in use" },
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line nvme_disconnect_line = {
	.program = "datasetfsctl nvme disconnect",
	.usage = "NQN|CONTROLLER...",
	.operands = { 1, OPERANDS_ANY },
	.summary = "Disconnect a subsystem or single controllers.",
	.options = nvme_disconnect_table,
};

static bool nvme_disconnect_is_meant(const struct topology *t, size_t controller, const char *word)
{
	return !strcmp(t->controllers[controller].name, word) ||
	       !strcmp(t->subsystems[t->controllers[controller].subsystem].nqn, word);
}

static bool nvme_disconnect_is_wanted(const struct topology *t, size_t controller, char **words, int count)
{
	for (int i = 0; i < count; i++)
		if (nvme_disconnect_is_meant(t, controller, words[i]))
			return true;
	return false;
}

/* Returns whether a live path to the namespace remains. */
static bool nvme_disconnect_leaves(const struct topology *t, size_t namespace, char **words, int count)
{
	for (size_t i = 0; i < t->path_count; i++)
		if (t->paths[i].namespace == namespace &&
		    !strcmp(t->controllers[t->paths[i].controller].state, "live") &&
		    !nvme_disconnect_is_wanted(t, t->paths[i].controller, words, count))
			return true;
	return false;
}

static bool nvme_disconnect_touches(const struct topology *t, size_t namespace, char **words, int count)
{
	for (size_t i = 0; i < t->path_count; i++)
		if (t->paths[i].namespace == namespace &&
		    nvme_disconnect_is_wanted(t, t->paths[i].controller, words, count))
			return true;
	return false;
}

static int nvme_disconnect_check_namespace(const struct topology_namespace *namespace, struct error *err)
{
	auto_free char *node = NULL;
	int r = busy_check(namespace->device, err);

	if (r == 0)
		r = busy_check_served(namespace->device, err);
	if (r == 0 && locate_node(namespace, &node, NULL) == 0)
		r = busy_check_claimed(node, err);
	return r;
}

static int nvme_disconnect_check_use(const struct topology *t, char **words, int count, struct error *err)
{
	struct error why = { 0 };
	int r;

	for (size_t i = 0; i < t->namespace_count; i++) {
		if (!nvme_disconnect_touches(t, i, words, count) || nvme_disconnect_leaves(t, i, words, count))
			continue;
		r = nvme_disconnect_check_namespace(&t->namespaces[i], &why);
		if (r < 0)
			return error_set(err, r, "'%s' is in use, --force disconnects it anyway: %s",
					 t->namespaces[i].name, why.reason);
	}
	return 0;
}

/* Checks that the words name controllers of a fabric, not local drives, and that none is in use unless force is set. */
static int nvme_disconnect_check(const struct topology *t, char **words, int count, bool force, struct error *err)
{
	for (int w = 0; w < count; w++) {
		size_t found = 0;

		for (size_t i = 0; i < t->controller_count; i++) {
			if (!nvme_disconnect_is_meant(t, i, words[w]))
				continue;
			found++;
			if (!strcmp(t->controllers[i].transport, "pcie"))
				return error_set(err, -EINVAL, "'%s' is a local drive", t->controllers[i].name);
		}
		if (!found && strncmp(words[w], "nqn.", 4) != 0)
			return error_set(err, -ENOENT, "there is no controller '%s'", words[w]);
	}
	return force ? 0 : nvme_disconnect_check_use(t, words, count, err);
}

/* Names subsystems that were not connected, which is no failure. */
static void nvme_disconnect_tell(const struct topology *t, char **words, int count)
{
	for (int w = 0; w < count; w++)
		if (!topology_by_nqn(t, words[w]) && !strncmp(words[w], "nqn.", 4))
			text_print("'%s' was not connected\n", words[w]);
}

static int nvme_disconnect_one(const struct topology_controller *controller, struct json *json, struct error *err)
{
	int r = topology_check_own(err);

	if (r == 0)
		r = fabrics_disconnect(controller->name, err);
	if (r < 0)
		return r;
	if (json)
		json_string(json, NULL, controller->name);
	else
		text_print("%s is disconnected\n", controller->name);
	return 0;
}

/* Disconnects all controllers that the words name, and prints each. json: NULL for text. */
static int nvme_disconnect_all(const struct topology *t, char **words, int count, struct json *json, struct error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < t->controller_count; i++)
		if (nvme_disconnect_is_wanted(t, i, words, count))
			r = nvme_disconnect_one(&t->controllers[i], json, err);
	return r;
}

/* Prints controllers as JSON, also those that were disconnected before one that failed. */
static int nvme_disconnect_json(const struct topology *t, char **words, int count, struct error *err)
{
	struct json json = { .out = stdout };
	int r;

	json_begin_object(&json, NULL);
	json_begin_array(&json, "disconnected");
	r = nvme_disconnect_all(t, words, count, &json, err);
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
	return r;
}

static int nvme_disconnect_text(const struct topology *t, char **words, int count, struct error *err)
{
	int r = nvme_disconnect_all(t, words, count, NULL, err);

	if (r == 0)
		nvme_disconnect_tell(t, words, count);
	return r;
}

int nvme_disconnect_run(int argc, char **argv)
{
	struct nvme_disconnect_options options = { 0 };
	auto_topology struct topology topology = { 0 };
	struct error err = { 0 };
	int operands, status, r;

	if (!verb_parse(&nvme_disconnect_line, argc, argv, &options, &operands, &status))
		return status;
	r = topology_read(topology_root(), &topology, &err);
	if (r == 0)
		r = nvme_disconnect_check(&topology, argv + 1, operands, options.force, &err);
	if (r == 0)
		r = options.common.json ? nvme_disconnect_json(&topology, argv + 1, operands, &err) :
					  nvme_disconnect_text(&topology, argv + 1, operands, &err);
	if (r < 0)
		log_error(&err, "cannot disconnect");
	return r < 0 ? VERB_FAILED : VERB_DONE;
}
