/* SPDX-License-Identifier: MIT */
/* Names of volumes: a path, or the identity of an NVMe namespace, which is valid whatever its device is called, and
 * also of what lies on it (device/nvme/mapping.h):
 *   nvme:uuid:UUID   nvme:nguid:32 DIGITS   nvme:eui64:16 DIGITS   nvme://SUBSYSTEM_NQN/NSID */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "device/nvme/topology.h"

/* True if volume is an identity and not a path. A file with such a name can be given as ./nvme:… */
bool locate_is_identity(const char *volume);
/* Finds the namespace of an identity. -ENOENT: not connected or unknown; -ENOTUNIQ: several namespaces claim it. */
must_check int locate_namespace(const struct topology *topology, const char *volume,
				const struct topology_namespace **ret, struct error *err);
/* Returns the path of a namespace's block device; free() it. */
must_check int locate_node(const struct topology_namespace *namespace, char **ret, struct error *err);
/* Returns the path of a volume: its name, or the block device of its identity, or of the mapping on that. free() it.
 * -EMLINK: several lie on it. */
must_check int locate_path(const char *volume, char **ret, struct error *err);
/* Returns the identity of the namespace that is open as fd, or below the mapping that is; "": there is none. */
must_check int locate_identity(int fd, char identity[TOPOLOGY_IDENTITY_SIZE], struct error *err);
/* Whether the device that is open as fd is a mapping of dm-crypt, or lies on one. */
bool locate_is_crypt(int fd);
/* Whether it is known that the filesystem of this file or folder lies on a drive without dm-crypt. It is not known of a
 * filesystem that does not tell its device (btrfs, overlayfs), or whose device lies on several or on a file; one in
 * memory lies on none. */
bool locate_is_plain(int fd);
/* Returns the volume's failure domain: the NQN of the subsystem with the namespace, or partition of one, that is open
 * as fd or below the mapping that is; "": there is none. */
must_check int locate_domain(int fd, char domain[TOPOLOGY_DOMAIN_SIZE], struct error *err);
