/* SPDX-License-Identifier: MIT */
/* Whether mounts serve. The kernel answers stat(2) and listings of a dead one from its caches, so the daemon itself is
 * asked, by the file control: in a process of its own, as a daemon that hangs never releases a process that asks it. A
 * mount by the kernel has no daemon, but a record. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/program/child.h"
#include "datasetfs/control.h"

/* A mount that is asked which version it serves. Set mount and zero the rest. */
struct health {
	const char *mount;
	bool is_answered;                /* the rest is valid */
	int code;                        /* 0; -ENOTCONN: it is dead; -ETIMEDOUT: no answer within some seconds */
	struct dsfs_version_facts facts; /* if code is 0 */
	struct error reason;
	struct child child;
};

/* Returns whether this is the wanted answer, so that the others need not be waited for. */
typedef bool health_enough(const void *argument, const struct health *health);

/* Asks all of them at once, and returns when each has answered or was given up, or one answer is enough (NULL: none
 * is): so it takes the time of one, however many hang. The process must have one thread. */
void health_ask_all(struct health *all, size_t count, health_enough *enough, const void *argument);
/* Reads the record of a mount by the kernel. -ENODEV: a device is gone for good; -ENOENT: it has none; -EOPNOTSUPP: the
 * kernel is too old for one. */
must_check int health_of_kernel(const char *mount, dev_t device, struct dsfs_version_facts *ret, struct error *err);
/* Asks one; returns its code. */
must_check int health_ask(const char *mount, struct dsfs_version_facts *ret, struct error *err);
