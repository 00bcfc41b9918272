/* SPDX-License-Identifier: MIT */
/* datasetfsctl nvme: the table of its verbs, and the printing of controllers and namespaces that they share. */
#include "nvme/nvme.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text/format.h"
#include "base/text/parse.h"
#include "subverb.h"

static const struct subverb nvme_verbs[] = {
	{ "list", nvme_list_run, &nvme_list_line },
	{ "inspect", nvme_inspect_run, &nvme_inspect_line },
	{ "discover", nvme_discover_run, &nvme_discover_line },
	{ "connect", nvme_connect_run, &nvme_connect_line },
	{ "disconnect", nvme_disconnect_run, &nvme_disconnect_line },
	{ "protect", nvme_protect_run, &nvme_protect_line },
	{ "release", nvme_release_run, &nvme_release_line },
};

static const struct option_spec nvme_table[] = { { 0 } };

const struct command_line nvme_line = {
	.program = "datasetfsctl nvme",
	.usage = "VERB ...",
	.summary = "Find, connect and inspect NVMe namespaces.",
	.options = nvme_table,
};

int nvme_run(int argc, char **argv)
{
	return subverb_run(&nvme_line, ", see datasetfsctl-nvme(8)", nvme_verbs,
			   sizeof(nvme_verbs) / sizeof(*nvme_verbs), argc, argv);
}

/* ---- shared by the verbs ---- */

static int nvme_keep(const char *argument, char *text, size_t size, struct error *err)
{
	if ((size_t)snprintf(text, size, "%s", argument) >= size)
		return error_set(err, -EINVAL, "%zu characters, expected at most %zu", strlen(argument), size - 1);
	return 0;
}

int nvme_set_hostnqn(void *target, const char *argument, struct error *err)
{
	struct nvme_options *options = target;

	return nvme_keep(argument, options->host.nqn, sizeof(options->host.nqn), err);
}

int nvme_set_hostid(void *target, const char *argument, struct error *err)
{
	struct nvme_options *options = target;
	uint8_t id[16];
	int r = parse_uuid(argument, id, err);

	return r < 0 ? r : nvme_keep(argument, options->host.id, sizeof(options->host.id), err);
}

const char *nvme_mapping(const struct topology_namespace *namespace, char text[NVME_MAPPING_SIZE])
{
	struct mapping mapping;
	struct error why = { 0 };

	text[0] = 0;
	if (mapping_above(topology_root(), namespace->device, &mapping, &why) < 0)
		snprintf(text, NVME_MAPPING_SIZE, "%.380s", why.reason);
	else if (mapping.device)
		snprintf(text, NVME_MAPPING_SIZE, "%s, '/dev/mapper/%s'", mapping.is_crypt ? "crypt" : "mapped",
			 mapping.name);
	return text;
}

const char *nvme_address(const struct topology_controller *controller, char text[192])
{
	bool brackets = strchr(controller->traddr, ':') && controller->trsvcid[0];

	snprintf(text, 192, "%s%s%s%s%s", brackets ? "[" : "", controller->traddr, brackets ? "]" : "",
		 controller->trsvcid[0] ? ":" : "", controller->trsvcid);
	return text;
}

static const char *nvme_authentication(const struct topology_controller *controller)
{
	if (controller->host_secret == TOPOLOGY_HIDDEN)
		return "authentication known to root";
	if (controller->host_secret == TOPOLOGY_NO)
		return "";
	return controller->ctrl_secret == TOPOLOGY_YES ? "authenticated both ways" : "authenticated";
}

const char *nvme_security(const struct topology_controller *controller, char text[NVME_SECURITY_SIZE])
{
	const char *authentication = nvme_authentication(controller);

	snprintf(text, NVME_SECURITY_SIZE, "%s%s%s", authentication, *authentication && controller->has_tls ? ", " : "",
		 controller->has_tls ? "TLS" : "");
	return text;
}

static void nvme_json_authentication(struct json *json, const struct topology_controller *controller)
{
	if (controller->host_secret == TOPOLOGY_HIDDEN)
		json_null(json, "authentication");
	else
		json_string(json, "authentication",
			    controller->host_secret == TOPOLOGY_NO  ? "none" :
			    controller->ctrl_secret == TOPOLOGY_YES ? "both" :
								      "host");
}

/* Prints a number, which may be missing (-1). */
static void nvme_json_number(struct json *json, const char *key, int64_t n)
{
	if (n < 0)
		json_null(json, key);
	else
		json_signed(json, key, n);
}

void nvme_json_path(struct json *json, const struct topology *topology, const struct topology_path *path)
{
	const struct topology_controller *controller = &topology->controllers[path->controller];

	json_begin_object(json, NULL);
	json_string(json, "path", path->name);
	json_string(json, "controller", controller->name);
	json_string(json, "transport", controller->transport);
	json_string(json, "address", controller->traddr);
	json_string(json, "service", controller->trsvcid);
	json_string(json, "state", controller->state);
	json_string(json, "ana_state", path->ana_state);
	json_bool(json, "data_digest", path->data_digest);
	nvme_json_authentication(json, controller);
	json_bool(json, "tls", controller->has_tls);
	nvme_json_number(json, "queues", controller->queues);
	nvme_json_number(json, "queue_size", controller->queue_size);
	nvme_json_number(json, "numa_node", controller->numa_node);
	nvme_json_number(json, "reconnect_delay", controller->reconnect_delay);
	nvme_json_number(json, "ctrl_loss_tmo", controller->ctrl_loss_tmo);
	nvme_json_number(json, "fast_io_fail_tmo", controller->fast_io_fail_tmo);
	nvme_json_number(json, "keep_alive_tmo", controller->keep_alive_tmo);
	json_end_object(json);
}

static void nvme_json_hex(struct json *json, const char *key, bool is_there, const uint8_t *bytes, size_t size)
{
	char text[UUID_TEXT_SIZE];

	if (!is_there) {
		json_null(json, key);
		return;
	}
	if (!strcmp(key, "uuid"))
		format_uuid(bytes, text);
	else
		format_hex(bytes, size, text);
	json_string(json, key, text);
}

static void nvme_json_mapping(struct json *json, const struct topology_namespace *namespace)
{
	struct mapping mapping = { .device = 0 };

	(void)!mapping_above(topology_root(), namespace->device, &mapping, NULL);
	json_bool(json, "crypt", mapping.is_crypt);
	if (mapping.device)
		json_string(json, "mapping", mapping.name);
	else
		json_null(json, "mapping");
}

void nvme_json_namespace(struct json *json, const struct topology *topology,
			 const struct topology_namespace *namespace)
{
	char identity[TOPOLOGY_IDENTITY_SIZE];

	topology_identity(namespace, identity);
	json_string(json, "device", namespace->name);
	json_string(json, "identity", identity);
	json_string(json, "subsystem", topology->subsystems[namespace->subsystem].nqn);
	json_number(json, "nsid", namespace->nsid);
	nvme_json_hex(json, "uuid", namespace->has_uuid, namespace->uuid, sizeof(namespace->uuid));
	nvme_json_hex(json, "nguid", namespace->has_nguid, namespace->nguid, sizeof(namespace->nguid));
	nvme_json_hex(json, "eui64", namespace->has_eui64, namespace->eui64, sizeof(namespace->eui64));
	json_number(json, "size", namespace->size);
	json_number(json, "lba_size", namespace->lba_size);
	json_bool(json, "read_only", namespace->read_only);
	nvme_json_mapping(json, namespace);
}
