/* SPDX-License-Identifier: MIT */
/* Finds the nodes in /dev of block devices, and opens namespaces by them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "device/nvme/topology.h"

/* True if path leads to this block device. */
bool devnode_is(const char *path, dev_t device);
/* Finds the node of the block device that sysfs calls name. False: there is none. */
bool devnode_find(const char *name, dev_t device, char *path, size_t size);
/* Opens the namespace below the mapping that device is, for commands: dm-crypt passes none on. *ret stays -1 if device
 * is no mapping, and takes commands itself. */
must_check int devnode_open_below(const struct topology_namespace *namespace, dev_t device, int *ret,
				  struct error *err);
