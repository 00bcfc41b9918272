/* SPDX-License-Identifier: MIT */
/* Finds the nodes in /dev of block devices. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* True if path leads to this block device. */
bool devnode_is(const char *path, dev_t device);
/* Finds the node of the block device that sysfs calls name. False: there is none. */
bool devnode_find(const char *name, dev_t device, char *path, size_t size);
