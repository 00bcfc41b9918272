/* SPDX-License-Identifier: MIT */
/* The mount namespace of the machine, which is that of process 1: mounts that many share are made there, whatever
 * namespace a job or a container has, and live on when that ends. */
#pragma once
#include <stdint.h>

#include "base/error.h"

/* The way back to the caller's namespace, root and working directory. */
struct machine {
	int own, root, folder; /* -1 each: the caller is in the machine's namespace itself */
	uint64_t number;       /* of the caller's namespace, as in the link /proc/self/ns/mnt; 0: it is the machine's */
};

#define MACHINE_NONE ((struct machine){ .own = -1, .root = -1, .folder = -1 })

/* Enters the machine's namespace. The process must have one thread, unless it is there already. -EPERM: it is not,
 * and may not go there. */
must_check int machine_enter(struct machine *ret, struct error *err);
/* Goes back. Aborts if that fails: whatever followed would be done in the wrong namespace. Does nothing if it was done
 * before. */
void machine_leave(struct machine *machine);
