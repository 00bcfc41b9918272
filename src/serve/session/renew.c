/* SPDX-License-Identifier: MIT */
/* Invalidates them one by one. FORGETs that died with a server leave numbers in the record that the kernel does not
 * know; no server gives a number out again, so they can be taken out at any time. */
#include "serve/session/renew.h"

#include <string.h>

#include "base/log.h"
#include "fuse/invalidate.h"
#include "fuse/known.h"
#include "serve/dotdir/snapshots.h"

void renew_begin(const struct serve *serve, uint64_t ret[RECOVERY_SNAPSHOTS])
{
	for (unsigned i = 0; i < RECOVERY_SNAPSHOTS; i++)
		ret[i] = atomic_load(&serve->recovery->snapshots[i]);
}

static bool renew_is_inherited(const struct serve *serve, uint64_t nodeid)
{
	struct snapshot *snapshot = snapshots_get(serve->snapshots, nodeid);

	snapshots_put(snapshot);
	return snapshot;
}

static int renew_file(const struct serve *serve, uint64_t nodeid, struct error *err)
{
	int r = known_node(serve->mount_fd, nodeid);

	if (r < 0)
		return error_set(err, r, "cannot ask the kernel for a file of .datasetfs: %s", strerror(-r));
	if (!r)
		snapshots_forget(serve->snapshots, nodeid, UINT64_MAX);
	return r && !renew_is_inherited(serve, nodeid) ? invalidate_inode(serve->mount_fd, nodeid, err) : 0;
}

void renew_files(struct serve *serve, const uint64_t nodes[RECOVERY_SNAPSHOTS])
{
	struct error err = { 0 };
	int r = 0;

	for (unsigned i = 0; r == 0 && i < RECOVERY_SNAPSHOTS; i++)
		if (nodes[i])
			r = renew_file(serve, nodes[i], &err);
	if (r < 0)
		log_debug("%s", err.reason);
}
