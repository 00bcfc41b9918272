/* SPDX-License-Identifier: MIT */
/* Declares the verbs of 'datasetfsctl nvme', each in the file of its name, and functions that some of them share. */
#pragma once
#include "base/text/json.h"
#include "device/nvme/host.h"
#include "device/nvme/mapping.h"
#include "device/nvme/topology.h"
#include "verb.h"

extern const struct command_line nvme_connect_line, nvme_disconnect_line, nvme_discover_line, nvme_inspect_line,
	nvme_list_line, nvme_protect_line, nvme_release_line;

int nvme_connect_run(int argc, char **argv);
int nvme_disconnect_run(int argc, char **argv);
int nvme_discover_run(int argc, char **argv);
int nvme_inspect_run(int argc, char **argv);
int nvme_list_run(int argc, char **argv);
int nvme_protect_run(int argc, char **argv);
int nvme_release_run(int argc, char **argv);

/* The option structs of verbs that talk to a target begin with this struct. */
struct nvme_options {
	struct verb_options common;
	struct host host;
};
int nvme_set_hostnqn(void *target, const char *argument, struct error *err);
int nvme_set_hostid(void *target, const char *argument, struct error *err);
#define NVME_OPTIONS_HOST                                                                                        \
	{ "hostnqn", 0, "NQN", OPTION_CALL(nvme_set_hostnqn), "set the host NQN (default from /etc/nvme/hostnqn)" }, \
	{ "hostid", 0, "UUID", OPTION_CALL(nvme_set_hostid), "set the host ID (default from /etc/nvme/hostid)" }

/* Formats what lies on a namespace (device/nvme/mapping.h): "crypt, '/dev/mapper/NAME'"; "" if nothing does. Returns
 * text. */
#define NVME_MAPPING_SIZE (MAPPING_NAME_SIZE + 256)
const char *nvme_mapping(const struct topology_namespace *namespace, char text[NVME_MAPPING_SIZE]);
/* Formats the address of a controller for output. Returns text. */
const char *nvme_address(const struct topology_controller *controller, char text[192]);
/* Formats who has proved who he is, and whether the connection is encrypted: "authenticated, TLS"; "": neither. Returns
 * text. */
#define NVME_SECURITY_SIZE 64
const char *nvme_security(const struct topology_controller *controller, char text[NVME_SECURITY_SIZE]);
/* Prints the fields of a path and its controller. */
void nvme_json_path(struct json *json, const struct topology *topology, const struct topology_path *path);
/* Prints name, size and identities of a namespace. */
void nvme_json_namespace(struct json *json, const struct topology *topology,
			 const struct topology_namespace *namespace);
