/* SPDX-License-Identifier: MIT */
/* Data sets for consumers that come and go, such as pods and jobs: of each key (attach/key.h) the machine has one
 * mount, with one daemon and one index, which is bound to the places of any number of consumers. The calls are for
 * root, print nothing, and may be repeated after any interruption. The process must have one thread. */
#pragma once
#include <stdbool.h>

#include "attach/census.h"
#include "attach/key.h"
#include "attach/uses.h"
#include "datasetfs/control.h"

/* Shows the data set at the directory target, in the caller's mount namespace. Mounts it first if the machine has no
 * mount of this key that serves. Does nothing if it is attached there already. Resolves the key. Errors beside those
 * of a mount:
 *   EPERM                            the caller is not root
 *   ENOENT, ENOTDIR, ELOOP, EINVAL   target is no place for it, see attach/place.h
 *   EBUSY                            another data set is mounted there */
must_check int attach_to(struct key *key, const char *target, struct error *err);

/* Takes the data set away from target, at once, whether it is in use or dead; unmounts it for good if that was the last
 * consumer. *ret_was: false if nothing was attached there, which is no error. Errors:
 *   EPERM                            the caller is not root
 *   ENOENT, ENOTDIR, ELOOP           target is no place
 *   EINVAL                           a mount is there that attach_to() did not make
 *   EBUSY                            another filesystem covers it */
must_check int attach_detach(const char *target, bool *ret_was, struct error *err);

/* Ends what consumers have left that ended without a detach; the rule is that of attach/reap.h. -EPERM: the caller is
 * not root. */
must_check int attach_reap(struct error *err);

/* A mount and its consumers. */
struct attach_view {
	const struct use *mount;
	const struct uses *uses;          /* of all mounts: its consumers have its device */
	const struct census *census;      /* who is in the namespaces of consumers; empty if the caller is not root */
	struct dsfs_version_facts serves; /* if code is 0 */
	int code;                         /* why it does not serve, of health_ask(): -ENOTCONN: it is dead */
	struct error reason;
};

/* Calls visit for each mount until it returns something other than 0; returns that. */
typedef int attach_visit(void *argument, const struct attach_view *view, struct error *err);
must_check int attach_each(attach_visit *visit, void *argument, struct error *err);
