/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme connect: connects a subsystem through all its portals and waits for its namespaces. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/locate.h"
#include "nvme/nvme.h"
#include "text.h"

#define CONNECT_SECONDS_MAX 604800
#define CONNECT_LOOK        100000000 /* ns between looks for the namespaces */

struct nvme_connect_options {
	struct nvme_options nvme;
	uint64_t wait; /* seconds */
};

/* A portal and the result of connecting to it. */
struct nvme_connect_portal {
	struct portal portal;
	struct fabrics_controller controller; /* its name is empty if it is not known */
	bool was_connected;
	struct error err; /* code 0: it is connected */
};

/* ---- options ---- */

#define CONNECT_NUMBER(FIELD, MIN, MAX) OPTION_NUMBER(struct nvme_connect_options, FIELD, MIN, MAX)
#define CONNECT_SECONDS_OR_OFF(FIELD)   OPTION_NUMBER_OR_OFF(struct nvme_connect_options, FIELD, 1, CONNECT_SECONDS_MAX)

static const struct option_spec nvme_connect_table[] = {
	{ "wait", 0, "S", CONNECT_NUMBER(wait, 0, 3600), "wait at most S seconds for the namespaces (default 30)" },
	{ "reconnect-delay", 0, "S", CONNECT_NUMBER(nvme.settings.reconnect_delay, 1, 3600),
	  "try a lost path again every S seconds (default 2)" },
	{ "fast-io-fail-tmo", 0, "S", CONNECT_SECONDS_OR_OFF(nvme.settings.fast_io_fail_tmo),
	  "fail reads S seconds after the last path is lost, or off (default 300)" },
	{ "ctrl-loss-tmo", 0, "S", CONNECT_SECONDS_OR_OFF(nvme.settings.ctrl_loss_tmo),
	  "remove a lost controller after S seconds, or off (default 3600)" },
	{ "keep-alive-tmo", 0, "S", CONNECT_NUMBER(nvme.settings.keep_alive_tmo, 1, 3600),
	  "give up a path that is silent for S seconds (default 5)" },
	{ "queues", 0, "N", CONNECT_NUMBER(nvme.settings.queues, 1, 65535),
	  "use N I/O queues (default one for each CPU)" },
	{ "queue-size", 0, "N", CONNECT_NUMBER(nvme.settings.queue_size, 16, 1024),
	  "give each queue N entries, 16 to 1024 (default 128)" },
	{ "digests", 0, NULL, OPTION_TRUE(struct nvme_connect_options, nvme.settings.digests),
	  "TCP: carry a CRC32C of headers and data" },
	NVME_OPTIONS_TARGET,
	VERB_OPTION_JSON,
	{ 0 },
};

const struct command_line nvme_connect_line = {
	.program = "datasetfsctl nvme connect",
	.usage = "NQN PORTAL...",
	.operands = { 2, OPERANDS_ANY },
	.summary = "Connect a subsystem and wait for its namespaces.\n"
		   "A portal is tcp://ADDRESS[:PORT], rdma://ADDRESS[:PORT] or loop; the port is 4420 unless given.",
	.options = nvme_connect_table,
};

/* ---- connecting ---- */

/* Returns the controller that is connected to the portal already; NULL: there is none. Sysfs shows the addresses of
 * host names. */
static const struct topology_controller *nvme_connect_find(const struct topology *t, const char *nqn,
							   const struct portal *portal)
{
	struct portal where;

	if (portal_resolve(portal, &where, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < t->controller_count; i++) {
		const struct topology_controller *controller = &t->controllers[i];

		if (!strcmp(t->subsystems[controller->subsystem].nqn, nqn) &&
		    strncmp(controller->state, "deleting", 8) != 0 && strcmp(controller->state, "dead") != 0 &&
		    portal_is(&where, controller->transport, controller->traddr, controller->trsvcid))
			return controller;
	}
	return NULL;
}

/* Returns what the connection lacks of what was asked for; NULL: nothing. */
static const char *nvme_connect_lacks(const struct nvme_connect_options *options,
				      const struct topology_controller *controller)
{
	if (options->nvme.settings.tls && !controller->has_tls)
		return "without TLS";
	if (options->nvme.host_secret.secret.text[0] && controller->host_secret == TOPOLOGY_NO)
		return "without a secret of this host";
	if (options->nvme.ctrl_secret.secret.text[0] && controller->ctrl_secret == TOPOLOGY_NO)
		return "without a secret of the target";
	return NULL;
}

/* Takes a connection that is there, unless it is less secure than wanted. */
static int nvme_connect_take(const struct nvme_connect_options *options, const struct topology_controller *controller,
			     struct nvme_connect_portal *portal)
{
	const char *lacks = nvme_connect_lacks(options, controller);
	char text[PORTAL_TEXT_SIZE];

	portal->err = (struct error){ 0 };
	if (lacks)
		return error_set(&portal->err, -EISCONN, "'%s': connected already as '%s', but %s: disconnect it first",
				 portal_text(&portal->portal, text), controller->name, lacks);
	snprintf(portal->controller.name, sizeof(portal->controller.name), "%s", controller->name);
	portal->was_connected = true;
	return 0;
}

/* Takes a connection that another process made at the same time. */
static int nvme_connect_again(const struct nvme_connect_options *options, const char *nqn,
			      struct nvme_connect_portal *portal)
{
	auto_topology struct topology now = { 0 };
	const struct topology_controller *controller = NULL;

	if (topology_read(topology_root(), &now, NULL) == 0)
		controller = nvme_connect_find(&now, nqn, &portal->portal);
	if (controller)
		return nvme_connect_take(options, controller, portal);
	portal->was_connected = true;
	portal->err = (struct error){ 0 };
	return 0;
}

/* Connects to one portal. The failure is kept with it, because a portal that is down must not prevent connections to
 * the others. The host's names are needed only for a new connection. */
static int nvme_connect_one(struct nvme_connect_options *options, const struct topology *t, const char *nqn,
			    struct nvme_connect_portal *portal)
{
	const struct topology_controller *controller = nvme_connect_find(t, nqn, &portal->portal);
	int r;

	if (controller)
		return nvme_connect_take(options, controller, portal);
	r = topology_check_own(&portal->err);
	if (r == 0)
		r = host_read(HOST_FOLDER, &options->nvme.host, &portal->err);
	if (r == 0)
		r = fabrics_connect(&options->nvme.host, nqn, &portal->portal, &options->nvme.settings,
				    &portal->controller, &portal->err);
	return r == -EALREADY ? nvme_connect_again(options, nqn, portal) : r;
}

/* Logs the failures of all portals but the last one, which the caller reports. Equal ones in a row are logged once. */
static void nvme_connect_tell(const struct nvme_connect_portal *portals, int count)
{
	for (int i = 0; i < count - 1; i++)
		if (strcmp(portals[i].err.reason, portals[i + 1].err.reason) != 0)
			log_error(&portals[i].err, "cannot connect");
}

static int nvme_connect_all(struct nvme_connect_options *options, const char *nqn,
			    struct nvme_connect_portal *portals, int count, struct error *err)
{
	auto_topology struct topology topology = { 0 };
	int r = topology_read(topology_root(), &topology, err), connected = 0;

	if (r < 0)
		return r;
	for (int i = 0; i < count; i++)
		connected += nvme_connect_one(options, &topology, nqn, &portals[i]) == 0;
	if (connected)
		return 0;
	nvme_connect_tell(portals, count);
	return error_pass(err, portals[count - 1].err.code, &portals[count - 1].err);
}

/* ---- waiting ---- */

/* Returns whether all known namespaces of the subsystem have a device. *ret_count: how many there are. */
static bool nvme_connect_ready(const struct topology *t, const char *nqn, size_t *ret_count)
{
	bool ready = true;

	*ret_count = 0;
	for (size_t i = 0; i < t->namespace_count; i++) {
		auto_free char *path = NULL;

		if (strcmp(t->subsystems[t->namespaces[i].subsystem].nqn, nqn) != 0)
			continue;
		(*ret_count)++;
		ready = ready && locate_node(&t->namespaces[i], &path, NULL) == 0;
	}
	return ready && *ret_count > 0;
}

static int nvme_connect_wait(const char *nqn, uint64_t seconds, struct topology *ret, struct error *err)
{
	int64_t deadline = clock_now() + (int64_t)seconds * 1000000000;
	size_t count;
	int r;

	for (;;) {
		r = topology_read(topology_root(), ret, err);
		if (r < 0 || nvme_connect_ready(ret, nqn, &count))
			return r;
		if (clock_now() >= deadline)
			return error_set(err, -ETIMEDOUT, "'%s' is connected, but after %" PRIu64 " s %s", nqn, seconds,
					 count ? "not all devices of its namespaces are there" :
						 "it shows this host no namespace");
		topology_free(ret);
		clock_sleep(CONNECT_LOOK);
	}
}

/* ---- output ---- */

static void nvme_connect_text(const struct topology *t, const char *nqn, const struct nvme_connect_portal *portals,
			      int count)
{
	char text[PORTAL_TEXT_SIZE], identity[TOPOLOGY_IDENTITY_SIZE];

	for (int i = 0; i < count; i++)
		if (!portals[i].err.code)
			text_print("%s %s%s%s\n", portal_text(&portals[i].portal, text),
			       portals[i].was_connected ? "was already connected" : "is connected",
			       portals[i].controller.name[0] ? " as " : "", portals[i].controller.name);
	for (size_t i = 0; i < t->namespace_count; i++) {
		auto_free char *path = NULL;

		if (strcmp(t->subsystems[t->namespaces[i].subsystem].nqn, nqn) != 0 ||
		    locate_node(&t->namespaces[i], &path, NULL) < 0)
			continue;
		topology_identity(&t->namespaces[i], identity);
		text_print("%s %s\n", path, identity);
	}
}

static void nvme_connect_json(const struct topology *t, const char *nqn, const struct nvme_connect_portal *portals,
			      int count)
{
	struct json json = { .out = stdout };
	char text[PORTAL_TEXT_SIZE];

	json_begin_object(&json, NULL);
	json_string(&json, "subsystem", nqn);
	json_begin_array(&json, "portals");
	for (int i = 0; i < count; i++) {
		json_begin_object(&json, NULL);
		json_string(&json, "portal", portal_text(&portals[i].portal, text));
		json_string(&json, "controller", portals[i].controller.name);
		json_bool(&json, "was_connected", portals[i].was_connected);
		json_string(&json, "error", portals[i].err.reason);
		json_end_object(&json);
	}
	json_end_array(&json);
	json_begin_array(&json, "namespaces");
	for (size_t i = 0; i < t->namespace_count; i++)
		if (!strcmp(t->subsystems[t->namespaces[i].subsystem].nqn, nqn)) {
			json_begin_object(&json, NULL);
			nvme_json_namespace(&json, t, &t->namespaces[i]);
			json_end_object(&json);
		}
	json_end_array(&json);
	json_end_object(&json);
	putchar('\n');
}

/* ---- the verb ---- */

static int nvme_connect_check(const struct nvme_connect_options *options, const char *nqn, char **words,
			      struct nvme_connect_portal *portals, int count, struct error *err)
{
	const struct fabrics_settings *settings = &options->nvme.settings;
	int r = 0;

	if (strncmp(nqn, "nqn.", 4) != 0 || strpbrk(nqn, ", \t") || strlen(nqn) > 223)
		return error_set(err, -EINVAL, "'%s' is not the NQN of a subsystem: it begins with 'nqn.'", nqn);
	if (settings->ctrl_loss_tmo >= 0 && settings->fast_io_fail_tmo > settings->ctrl_loss_tmo)
		return error_set(err, -EINVAL, "--fast-io-fail-tmo %d is longer than --ctrl-loss-tmo %d",
				 settings->fast_io_fail_tmo, settings->ctrl_loss_tmo);
	r = nvme_secrets_check(&options->nvme, err);
	for (int i = 0; r == 0 && i < count; i++)
		r = nvme_secrets_check_portal(&options->nvme, words[i], &portals[i].portal, err);
	return r;
}

static void nvme_connect_warn(const struct nvme_connect_portal *portal)
{
	char text[PORTAL_TEXT_SIZE];

	if (portal->err.code)
		log_warn("cannot connect %s, ignoring", portal->err.reason);
	else if (portal->controller.is_unasked)
		log_warn("'%s': the target connects this host without its secret as well: set it there, too",
			 portal_text(&portal->portal, text));
}

static int nvme_connect(struct nvme_connect_options *options, const char *nqn, struct nvme_connect_portal *portals,
			int count)
{
	auto_topology struct topology topology = { 0 };
	struct error err = { 0 };
	int r;

	r = nvme_secrets_read(&options->nvme, &err);
	if (r == 0)
		r = nvme_connect_all(options, nqn, portals, count, &err);
	nvme_secrets_wipe(&options->nvme);
	for (int i = 0; r == 0 && i < count; i++)
		nvme_connect_warn(&portals[i]);
	if (r == 0)
		r = nvme_connect_wait(nqn, options->wait, &topology, &err);
	if (r < 0) {
		log_error(&err, "cannot connect");
		return VERB_FAILED;
	}
	if (options->nvme.common.json)
		nvme_connect_json(&topology, nqn, portals, count);
	else
		nvme_connect_text(&topology, nqn, portals, count);
	return VERB_DONE;
}

int nvme_connect_run(int argc, char **argv)
{
	struct nvme_connect_options options = {
		.nvme.settings = { .reconnect_delay = 2,
				   .fast_io_fail_tmo = 300,
				   .ctrl_loss_tmo = 3600,
				   .keep_alive_tmo = 5 },
		.wait = 30,
	};
	auto_free struct nvme_connect_portal *portals = NULL;
	struct error err = { 0 };
	int operands, status;

	if (!verb_parse(&nvme_connect_line, argc, argv, &options, &operands, &status))
		return status;
	portals = calloc((size_t)operands, sizeof(*portals));
	if (!portals) {
		log_err("no memory for %d portals", operands);
		return VERB_FAILED;
	}
	if (nvme_connect_check(&options, argv[1], argv + 2, portals, operands - 1, &err) < 0) {
		log_error(&err, "connect");
		return VERB_USAGE;
	}
	return nvme_connect(&options, argv[1], portals, operands - 1);
}
