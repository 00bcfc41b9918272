/* SPDX-License-Identifier: MIT */
/* The identity of this host to NVMe targets: its NQN, and its ID, under which targets keep reservations. */
#pragma once
#include <stdint.h>

#include "base/error.h"

#define HOST_FOLDER "/etc/nvme"

struct host {
	char nqn[224];
	char id[40]; /* a UUID */
};

/* Fills in what ret lacks from FOLDER/hostnqn and FOLDER/hostid. An NQN that contains a UUID also gives the ID. */
must_check int host_read(const char *folder, struct host *ret, struct error *err);
/* Returns -EINVAL unless the NQN and the ID are well-formed. */
must_check int host_check(const struct host *host, struct error *err);
