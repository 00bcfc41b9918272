/* SPDX-License-Identifier: MIT */
/* Asks by a FUSE_NOTIFY_STORE of no bytes, which touches no page. The kernel looks for the node first, then refuses it
 * if it is not a regular file. */
#include "fuse/known.h"

#include <errno.h>

#include "fuse/notice.h"
#include "fuse/wire.h"

int known_node(int fd, uint64_t nodeid)
{
	struct fuse_notify_store_out out = { .nodeid = nodeid };
	struct iovec iov[2] = { { 0 }, { &out, sizeof(out) } };
	int r = notice_write(fd, FUSE_NOTIFY_STORE, iov, 2);

	if (r == 0 || r == -EINVAL)
		return 1;
	return r == -ENOENT ? 0 : r;
}
