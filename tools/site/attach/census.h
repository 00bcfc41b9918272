/* SPDX-License-Identifier: MIT */
/* Finds the mount namespaces that have processes, by one look at all processes. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct census_entry {
	uint64_t namespace; /* number, as in the link /proc/PID/ns/mnt */
	pid_t process;
};

struct census {
	struct census_entry *items; /* sorted by namespace, each once */
	size_t count;
};

must_check int census_take(struct census *ret, struct error *err);
/* Returns a process in this mount namespace. A mounted one (nsfs) without processes counts as process 1's. 0: there was
 * none, and nothing kept it. */
pid_t census_process(const struct census *census, uint64_t namespace);
void census_free(struct census *census); /* frees its contents only */

#define auto_census cleanup(census_free)
