/* SPDX-License-Identifier: MIT */
/* How the devices of a mounted volume are connected, as sysfs says: how many of their paths over a network are
 * authenticated, and encrypted. */
#pragma once
#include "base/error.h"
#include "mounts/reported.h"

struct fabric {
	size_t paths;                 /* over TCP or RDMA; 0: all devices are of this machine */
	size_t authenticated, hidden; /* paths whose host has a secret, and paths where only root may know it */
	size_t encrypted;
};

must_check int fabric_count(const struct reported *reported, struct fabric *ret, struct error *err);
