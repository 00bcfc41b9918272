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

/* From FOLDER/hostnqn and FOLDER/hostid, where ret has none yet. The id may be in the NQN. */
must_check int host_read(const char *folder, struct host *ret, struct error *err);
/* Both are what they must be. */
must_check int host_check(const struct host *host, struct error *err);
