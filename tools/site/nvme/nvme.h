/* SPDX-License-Identifier: MIT */
/* Declares the verbs of 'datasetfsctl nvme', each in the file of its name, and functions that some of them share. */
#pragma once
#include <limits.h>

#include "base/text/json.h"
#include "device/nvme/fabrics.h"
#include "device/nvme/host.h"
#include "device/nvme/mapping.h"
#include "device/nvme/secret.h"
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

/* Where a secret is: one of the two, or nowhere. */
struct nvme_secret {
	const char *file, *key;
	struct secret secret;
};

/* The option structs of verbs that talk to a target begin with this struct. */
struct nvme_options {
	struct verb_options common;
	struct host host;
	struct fabrics_settings settings;
	struct nvme_secret host_secret, ctrl_secret;
};
int nvme_set_hostnqn(void *target, const char *argument, struct error *err);
int nvme_set_hostid(void *target, const char *argument, struct error *err);
#define NVME_OPTIONS_TEXT(FIELD)           OPTION_TEXT(struct nvme_options, FIELD, NULL)
#define NVME_OPTIONS_NUMBER(FIELD, MIN, MAX) OPTION_NUMBER(struct nvme_options, FIELD, MIN, MAX)
#define NVME_OPTIONS_TARGET                                                                                          \
	{ "dhchap-secret-file", 0, "FILE", NVME_OPTIONS_TEXT(host_secret.file),                                      \
	  "prove who this host is by the secret in FILE" },                                                          \
	{ "dhchap-secret-key", 0, "NAME", NVME_OPTIONS_TEXT(host_secret.key),                                        \
	  "the same by the secret in the key NAME" },                                                                \
	{ "dhchap-ctrl-secret-file", 0, "FILE", NVME_OPTIONS_TEXT(ctrl_secret.file),                                 \
	  "have the target prove who it is by the secret in FILE" },                                                 \
	{ "dhchap-ctrl-secret-key", 0, "NAME", NVME_OPTIONS_TEXT(ctrl_secret.key),                                   \
	  "the same by the secret in the key NAME" },                                                                \
	{ "tls", 0, NULL, OPTION_TRUE(struct nvme_options, settings.tls), "TCP: encrypt, by TLS 1.3" },              \
	{ "tls-key", 0, "N", NVME_OPTIONS_NUMBER(settings.tls_key, 1, INT_MAX),                                      \
	  "use the TLS key with this number (default by names)" },                                                   \
	{ "tls-keyring", 0, "N", NVME_OPTIONS_NUMBER(settings.tls_keyring, 1, INT_MAX),                              \
	  "look for the TLS key in this keyring (default .nvme)" },                                                  \
	{ "hostnqn", 0, "NQN", OPTION_CALL(nvme_set_hostnqn), "set the host NQN (default from /etc/nvme/hostnqn)" }, \
	{ "hostid", 0, "UUID", OPTION_CALL(nvme_set_hostid), "set the host ID (default from /etc/nvme/hostid)" }

/* Checks what the options say of secrets and TLS. -EINVAL: they do not go together. */
must_check int nvme_secrets_check(const struct nvme_options *options, struct error *err);
/* Takes a portal from a word, which the options must fit. */
must_check int nvme_secrets_check_portal(const struct nvme_options *options, const char *word, struct portal *ret,
					 struct error *err);
/* Reads the secrets from where they are into the settings, which are good until nvme_secrets_wipe(). */
must_check int nvme_secrets_read(struct nvme_options *options, struct error *err);
void nvme_secrets_wipe(struct nvme_options *options);

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
