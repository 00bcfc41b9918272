/* SPDX-License-Identifier: MIT */
/* The metrics of a mount that the kernel serves by itself. */
#pragma once
#include "exporter/mounts.h"

/* Writes them to a descriptor, as a daemon does: those that a daemon has as well have its names and help. Returns 0 or
 * an errno. */
int devices_write(const struct mounts_entry *mount, int to);
