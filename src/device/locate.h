/* SPDX-License-Identifier: MIT */
/* Names of volumes: a path, or the identity of an NVMe namespace, which finds it whatever its device is called now:
 *   nvme:uuid:UUID   nvme:nguid:32 DIGITS   nvme:eui64:16 DIGITS   nvme://SUBSYSTEM_NQN/NSID */
#pragma once
#include <stdbool.h>

#include "base/error.h"
#include "device/topology.h"

/* Whether it is an identity and not a path; a file of such a name can be called ./nvme:… */
bool locate_is_identity(const char *volume);
/* Its namespace. -ENOENT: not connected, or no such; -ENOTUNIQ: different namespaces claim it. */
must_check int locate_namespace(const struct topology *topology, const char *volume,
				const struct topology_namespace **ret, struct error *err);
/* The path of a namespace's block device. */
must_check int locate_node(const struct topology_namespace *namespace, char **ret, struct error *err);
/* The path of a volume: what it is called itself, or the block device of its identity. free() it. */
must_check int locate_path(const char *volume, char **ret, struct error *err);
/* The identity of the namespace that is open as fd; "" when it is none, or has none. */
must_check int locate_identity(int fd, char identity[TOPOLOGY_IDENTITY_SIZE], struct error *err);
/* What it fails with: the NQN of the subsystem that has the namespace, or the partition of one, that is open as fd; ""
 * when it is none. */
must_check int locate_domain(int fd, char domain[TOPOLOGY_DOMAIN_SIZE], struct error *err);
